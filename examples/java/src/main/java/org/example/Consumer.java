package org.example;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.kinesis.KinesisClient;
import software.amazon.awssdk.services.kinesis.model.ExpiredIteratorException;
import software.amazon.awssdk.services.kinesis.model.GetRecordsResponse;
import software.amazon.awssdk.services.kinesis.model.Shard;
import software.amazon.awssdk.services.kinesis.model.ShardIteratorType;

/** A consumer that reaches gold: it loses nothing, processes nothing twice, and keeps the contract. */
public final class Consumer {
    private static final String STREAM = System.getenv("SANDBOX_STREAM");
    private static final String ERROR = System.getenv("SANDBOX_ERROR_STREAM"); // for what has expired
    private static final String INVALID = System.getenv("SANDBOX_INVALID_STREAM"); // for all other codes
    private static final Path STATE = Path.of(System.getenv("SANDBOX_STATE_DIR"));

    private final KinesisClient kinesis = KinesisClient.create();
    private final Journal journal = new Journal(STATE.resolve("journal.ndjson"));
    private final Map<String, String> iterators = new HashMap<>();
    private volatile boolean stopping;

    private Consumer() throws IOException {}

    public static void main(String[] arguments) throws Exception {
        var consumer = new Consumer();
        var main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.stopping = true;
            try {
                main.join(); // the record in hand is finished
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
        }));
        consumer.run();
    }

    private void run() throws IOException, InterruptedException {
        long pause = 250; // a shard can be read five times a second
        while (!stopping) {
            pause = readAll() ? 250 : Math.min(2 * pause, 8000);
            Thread.sleep(pause);
        }
    }

    /** Read each shard once; return whether all went well. What failed is tried again, by the next round. */
    private boolean readAll() throws IOException {
        boolean well = true;
        try {
            for (var shard : listReadyShards()) {
                try {
                    if (!stopping) {
                        read(shard);
                    }
                } catch (SdkException error) {
                    System.err.println("cannot read " + shard + ": " + error.getMessage());
                    well = false;
                }
            }
        } catch (SdkException error) {
            System.err.println("cannot list the shards: " + error.getMessage());
            well = false;
        }
        return well;
    }

    // Messages

    /** Process a message, and return the name by which it is known when it comes again. */
    private String process(byte[] data) throws IOException {
        var digest = Contract.digest(data);
        if (journal.published.contains(digest)) {
            return "published " + digest; // an echo of what the consumer itself has published
        }
        var read = Contract.read(data);
        if (read.code() != null) {
            return reject(data, read.code());
        }
        var header = read.message().get("messageHeader");
        var place = header.get("messageSequence");
        boolean part = Contract.isPart(read.message());
        var name = part
                ? place.get("sequence").asText() + "/" + place.get("position").asInt()
                : header.get("messageId").asText();
        if (!journal.done.contains(name)) {
            if (part) {
                takePart(place, data);
            } else {
                work(read.message(), Contract.bodyText(data));
            }
        }
        return name;
    }

    /** The work of the application comes here. It is done before the checkpoint is written. */
    private void work(JsonNode message, String body) throws IOException {
        var name = message.at("/messageHeader/messageId").asText();
        var digest = Contract.digest(body.getBytes(StandardCharsets.UTF_8));
        System.out.println(Contract.JSON.writeValueAsString(Map.of("processed", name, "sha256", digest)));
    }

    /** Keep a part of a sequence on disk; process the message when all parts are there. */
    private void takePart(JsonNode place, byte[] data) throws IOException {
        var folder = Files.createDirectories(STATE.resolve("parts").resolve(place.get("sequence").asText()));
        var draft = Files.write(folder.resolve("draft"), data);
        Files.move(draft, folder.resolve(place.get("position").asInt() + ".json"), StandardCopyOption.REPLACE_EXISTING);
        var parts = new ArrayList<byte[]>();
        try (var files = Files.newDirectoryStream(folder, "*.json")) {
            for (var file : files) {
                parts.add(Files.readAllBytes(file));
            }
        }
        if (parts.size() < place.get("total").asInt()) {
            return;
        }
        var whole = Contract.join(parts);
        var read = Contract.read(whole, true);
        if (read.code() == null) {
            work(read.message(), Contract.bodyText(whole));
            return;
        }
        for (var part : parts) {
            reject(part, read.code());
        }
    }

    /** Put a message on the queue of its code, once. */
    private String reject(byte[] data, String code) throws IOException {
        var name = "rejected " + Contract.digest(data);
        if (!journal.done.contains(name)) {
            var bad = Contract.decorate(data, code);
            journal.write(Map.of("published", Contract.digest(bad)));
            kinesis.putRecord(r -> r.streamName(code.equals("GENERR003") ? ERROR : INVALID)
                    .partitionKey(Contract.digest(data)).data(SdkBytes.fromByteArray(bad)));
        }
        return name;
    }

    // Shards

    /** The shards to read: their parents were read to the end, or are gone. */
    private List<String> listReadyShards() {
        var shards = new ArrayList<Shard>();
        var page = kinesis.listShards(r -> r.streamName(STREAM));
        shards.addAll(page.shards());
        while (page.nextToken() != null) {
            var next = page.nextToken();
            page = kinesis.listShards(r -> r.nextToken(next));
            shards.addAll(page.shards());
        }
        var left = new HashSet<String>();
        shards.forEach(shard -> left.add(shard.shardId()));
        left.removeAll(journal.ended);
        return shards.stream()
                .filter(shard -> left.contains(shard.shardId()))
                .filter(shard -> !left.contains(shard.parentShardId()) && !left.contains(shard.adjacentParentShardId()))
                .map(Shard::shardId)
                .toList();
    }

    /** An iterator after the checkpoint; without one, from the shard's first record. */
    private String openIterator(String shard) {
        var after = journal.after.get(shard);
        var start = after == null ? ShardIteratorType.TRIM_HORIZON : ShardIteratorType.AFTER_SEQUENCE_NUMBER;
        return kinesis.getShardIterator(r -> r.streamName(STREAM).shardId(shard)
                .shardIteratorType(start).startingSequenceNumber(after)).shardIterator();
    }

    private void read(String shard) throws IOException {
        if (!iterators.containsKey(shard)) {
            iterators.put(shard, openIterator(shard));
        }
        GetRecordsResponse answer;
        try {
            answer = kinesis.getRecords(r -> r.shardIterator(iterators.get(shard)).limit(100));
        } catch (ExpiredIteratorException error) {
            iterators.remove(shard); // the next one begins after the checkpoint
            return;
        }
        iterators.remove(shard); // kept again when all records are processed
        for (var record : answer.records()) {
            var done = process(record.data().asByteArray());
            journal.write(Map.of("done", done, "shard", shard, "after", record.sequenceNumber()));
            if (stopping) {
                return;
            }
        }
        if (answer.nextShardIterator() != null) {
            iterators.put(shard, answer.nextShardIterator());
        } else {
            journal.write(Map.of("ended", shard));
        }
    }
}
