package org.example;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.retries.DefaultRetryStrategy;
import software.amazon.awssdk.services.kinesis.KinesisClient;
import software.amazon.awssdk.services.kinesis.model.PutRecordsRequestEntry;

/** A producer that reaches gold: it sends each message of a file once, whole, and tells what the stream has. */
public final class Producer {
    private static final String STREAM = System.getenv("SANDBOX_STREAM");
    private static final Path MESSAGES = Path.of(System.getenv("SANDBOX_MESSAGES"));
    private static final Path SENT = Path.of(System.getenv("SANDBOX_STATE_DIR"), "sent.txt");
    private static final int MOST_IN_BATCH = 25;
    private static final int MOST_BYTES = 4_000_000;

    /** A record of the message with this messageId. */
    private record Entry(String name, byte[] data) {}

    // This program makes the retries itself, with the pauses of the specification.
    private final KinesisClient kinesis = KinesisClient.builder()
            .overrideConfiguration(c -> c.retryStrategy(DefaultRetryStrategy.doNotRetry())).build();

    public static void main(String[] arguments) throws Exception {
        var producer = new Producer();
        Set<String> sent = Files.exists(SENT) ? new HashSet<>(Files.readAllLines(SENT)) : Set.of();
        var headers = new HashMap<String, JsonNode>();
        var batch = new ArrayList<Entry>();
        try (var lines = Files.newBufferedReader(MESSAGES)) {
            for (var line = lines.readLine(); line != null; line = lines.readLine()) {
                var header = Contract.JSON.readTree(line).get("messageHeader");
                var name = header.get("messageId").asText();
                if (sent.contains(name)) {
                    continue;
                }
                var data = line.getBytes(StandardCharsets.UTF_8);
                for (var record : data.length > Contract.MOST_BYTES ? Contract.split(data) : List.of(data)) {
                    batch.add(new Entry(name, record));
                }
                headers.put(name, header);
                if (headers.size() == MOST_IN_BATCH) {
                    producer.send(headers, batch);
                    headers.clear();
                    batch.clear();
                }
            }
        }
        producer.send(headers, batch);
    }

    /** Send a batch until the stream has all of it. Each message is told of as soon as it is there. */
    private void send(Map<String, JsonNode> headers, List<Entry> batch) throws IOException, InterruptedException {
        var waiting = new HashMap<>(headers);
        List<Entry> left = List.copyOf(batch);
        for (long pause = 200; !left.isEmpty(); pause *= 2) {
            waiting.values().removeIf(header -> {
                if (Contract.hasExpired(header)) {
                    System.err.println(header.get("messageId") + " has expired and is not sent: GENERR003");
                }
                return Contract.hasExpired(header);
            });
            var failed = new ArrayList<Entry>();
            for (var call : bySize(left.stream().filter(each -> waiting.containsKey(each.name())).toList())) {
                failed.addAll(put(call));
            }
            left = failed;
            var missing = new HashSet<String>();
            failed.forEach(each -> missing.add(each.name()));
            for (var name : List.copyOf(waiting.keySet())) {
                if (!missing.contains(name)) {
                    tell(name);
                    waiting.remove(name);
                }
            }
            if (!left.isEmpty()) {
                Thread.sleep(pause);
            }
        }
    }

    /** Cut a list of records into those of one call. */
    private static List<List<Entry>> bySize(List<Entry> records) {
        var calls = new ArrayList<List<Entry>>();
        int size = MOST_BYTES;
        for (var each : records) {
            if (size + each.data().length > MOST_BYTES) {
                calls.add(new ArrayList<>());
                size = 0;
            }
            calls.get(calls.size() - 1).add(each);
            size += each.data().length;
        }
        return calls;
    }

    /** Put records with one call, and return those that failed. */
    private List<Entry> put(List<Entry> records) {
        var entries = records.stream().map(each -> PutRecordsRequestEntry.builder()
                .partitionKey(each.name()).data(SdkBytes.fromByteArray(each.data())).build()).toList();
        try {
            var answers = kinesis.putRecords(r -> r.streamName(STREAM).records(entries)).records();
            var failed = new ArrayList<Entry>();
            for (int index = 0; index < answers.size(); index++) {
                if (answers.get(index).errorCode() != null) {
                    failed.add(records.get(index));
                }
            }
            return failed;
        } catch (SdkException error) {
            System.err.println("tries again: " + error.getMessage());
            return records;
        }
    }

    /** Keep the name on disk first: what was told is never sent again. */
    private static void tell(String name) throws IOException {
        Files.writeString(SENT, name + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        System.out.println(Contract.JSON.writeValueAsString(Map.of("sent", name)));
    }
}
