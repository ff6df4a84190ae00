package org.example;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** What is done, on disk: one line a record, so that a checkpoint and what it stands for are one write. */
final class Journal {
    final Set<String> done = new HashSet<>();
    final Set<String> published = new HashSet<>();
    final Set<String> ended = new HashSet<>();
    final Map<String, String> after = new HashMap<>();
    private final RandomAccessFile file;

    Journal(Path path) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rw");
        var text = Files.readString(path);
        var whole = text.substring(0, text.lastIndexOf('\n') + 1); // a kill may have cut the last line off
        file.setLength(whole.length());
        file.seek(whole.length());
        for (var line : whole.lines().toList()) {
            take(Contract.JSON.readTree(line));
        }
    }

    /** Write an entry of names and values, all of them ASCII. */
    void write(Map<String, String> entry) throws IOException {
        var line = Contract.JSON.writeValueAsString(entry) + "\n";
        file.write(line.getBytes(StandardCharsets.UTF_8));
        take(Contract.JSON.readTree(line));
    }

    private void take(JsonNode entry) {
        if (entry.has("done")) {
            done.add(entry.get("done").asText());
        }
        if (entry.has("published")) {
            published.add(entry.get("published").asText());
        }
        if (entry.has("ended")) {
            ended.add(entry.get("ended").asText());
        }
        if (entry.has("after")) {
            after.put(entry.get("shard").asText(), entry.get("after").asText());
        }
    }
}
