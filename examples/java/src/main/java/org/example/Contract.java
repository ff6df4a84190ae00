package org.example;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;

/** What an RDSS message has to be: judge it, read its body, split it, join it, reject it. */
final class Contract {
    static final ObjectMapper JSON = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
    static final int MOST_BYTES = 1_000_000;
    private static final Schemas SCHEMAS = new Schemas();
    private static final List<String> GRAVEST_FIRST =
            List.of("GENERR007", "GENERR004", "GENERR010", "GENERR002", "GENERR003", "GENERR001");
    private static final Map<String, String> OWN_DEFINITION =
            Map.of("dataset", "Dataset", "article", "Article", "thesisDissertation", "ThesisDissertation");
    private static final Pattern MESSAGE_ID = Pattern.compile("\"messageId\"\\s*:\\s*\"([0-9a-f-]{36})\"");

    private Contract() {}

    /** A message, in the form of 4.0.0, and the code of its gravest error, which is null for a valid one. */
    record Judged(JsonNode message, String code) {}

    static Judged read(byte[] data) {
        return read(data, false);
    }

    /** Read a message. "joined" says that it was joined of the parts of a sequence. */
    static Judged read(byte[] data, boolean joined) {
        JsonNode message;
        try {
            message = JSON.readTree(text(data));
        } catch (IOException error) {
            return new Judged(null, "GENERR007");
        }
        if (!message.isObject()) {
            return new Judged(null, "GENERR007");
        }
        if (message.at("/messageHeader/version").asText().startsWith("3.")) {
            try {
                message = OlderVersions.upgrade(message, isPart(message) && !joined);
            } catch (IllegalArgumentException error) {
                return new Judged(message, "GENERR001");
            }
        }
        var codes = codesOfHeader(message.path("messageHeader"));
        codes.addAll(codesOfBody(message, joined));
        return new Judged(message, GRAVEST_FIRST.stream().filter(codes::contains).findFirst().orElse(null));
    }

    private static Set<String> codesOfHeader(JsonNode header) {
        var codes = new HashSet<String>();
        for (var flaw : SCHEMAS.check("header", "Header", header)) {
            boolean type = flaw.path().equals("/messageType") && flaw.keyword().equals("enum");
            codes.add(flaw.uuid() ? "GENERR010" : type ? "GENERR002" : "GENERR004");
        }
        int position = header.at("/messageSequence/position").asInt();
        if (position < 1 || position > header.at("/messageSequence/total").asInt()) {
            codes.add("GENERR004");
        }
        if (hasExpired(header)) {
            codes.add("GENERR003");
        }
        return codes;
    }

    private static Set<String> codesOfBody(JsonNode message, boolean joined) {
        var codes = new HashSet<String>();
        var body = message.path("messageBody");
        if (body.isMissingNode() || message.size() > 2) {
            codes.add("GENERR001");
        } else if (isPart(message) && !joined) {
            if (!body.isTextual()) {
                codes.add("GENERR001");
            }
        } else {
            for (var flaw : checkBody(message.path("messageHeader"), body)) {
                codes.add(flaw.uuid() ? "GENERR010" : "GENERR001");
            }
        }
        return codes;
    }

    private static List<Schemas.Flaw> checkBody(JsonNode header, JsonNode body) {
        var own = OWN_DEFINITION.getOrDefault(body.path("objectResourceType").asText(), "ResearchObject");
        boolean answer = header.path("messageClass").asText().equals("Document");
        return switch (header.path("messageType").asText()) {
            case "MetadataCreate", "MetadataUpdate" -> SCHEMAS.check("objects", own, body);
            case "MetadataRead" -> answer
                    ? SCHEMAS.check("objects", own, body)
                    : SCHEMAS.check("messages", "ObjectReference", body);
            case "MetadataDelete" -> SCHEMAS.check("messages", "ObjectReference", body);
            case "PreservationEvent" -> SCHEMAS.check("packages", "InformationPackage", body);
            default -> List.of(); // the header has the error then
        };
    }

    static boolean hasExpired(JsonNode header) {
        try {
            var ends = header.at("/messageTimings/expirationTimestamp");
            return ends.isTextual() && OffsetDateTime.parse(ends.asText()).toInstant().isBefore(Instant.now());
        } catch (DateTimeException error) {
            return false; // the schema has told of it
        }
    }

    static boolean isPart(JsonNode message) {
        return message.at("/messageHeader/messageSequence/total").asInt() > 1;
    }

    // The body as it is written

    /** The text of the body in the bytes of a message, as it is written there. */
    static String bodyText(byte[] data) throws IOException {
        var text = text(data);
        try (var parser = JSON.createParser(text)) {
            parser.nextToken();
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                var name = parser.currentName();
                parser.nextToken();
                int start = (int) parser.currentTokenLocation().getCharOffset();
                parser.skipChildren();
                parser.finishToken();
                if (name.equals("messageBody")) {
                    return text.substring(start, (int) parser.currentLocation().getCharOffset());
                }
            }
        }
        throw new IOException("the message has no messageBody");
    }

    /** The text of bytes. Throws where they are not UTF-8. */
    private static String text(byte[] data) throws CharacterCodingException {
        return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data)).toString();
    }

    static String digest(byte[] data) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException(error);
        }
    }

    // Sequences

    /** The parts of a message that is too large; a retry makes the same parts. */
    static List<byte[]> split(byte[] data) throws IOException {
        var header = JSON.readTree(data).get("messageHeader");
        var body = bodyText(data).getBytes(StandardCharsets.UTF_8);
        // In a string each quote and backslash of the body takes two bytes: half of the room is always enough.
        int room = (MOST_BYTES - data.length + body.length - 1000) / 2;
        var ends = new ArrayList<>(List.of(0));
        while (ends.get(ends.size() - 1) < body.length) {
            int end = Math.min(ends.get(ends.size() - 1) + room, body.length);
            while (end < body.length && (body[end] & 0xC0) == 0x80) { // never within a character
                end--;
            }
            ends.add(end);
        }
        var parts = new ArrayList<byte[]>();
        for (int position = 1; position < ends.size(); position++) {
            ObjectNode own = header.deepCopy();
            if (position > 1) {
                own.put("messageId", uuidOf(header.get("messageId").asText() + "/" + position));
            }
            ((ObjectNode) own.get("messageSequence")).put("position", position).put("total", ends.size() - 1);
            int start = ends.get(position - 1);
            var slice = new String(body, start, ends.get(position) - start, StandardCharsets.UTF_8);
            var part = JSON.createObjectNode();
            part.set("messageHeader", own);
            parts.add(JSON.writeValueAsBytes(part.put("messageBody", slice)));
        }
        return parts;
    }

    /** The bytes of the whole message, from the bytes of all of its parts. */
    static byte[] join(List<byte[]> parts) throws IOException {
        var messages = new ArrayList<JsonNode>();
        for (var part : parts) {
            messages.add(JSON.readTree(part));
        }
        messages.sort(Comparator.comparingInt(each -> each.at("/messageHeader/messageSequence/position").asInt()));
        var body = new StringBuilder();
        messages.forEach(each -> body.append(each.get("messageBody").asText()));
        return message(messages.get(0).get("messageHeader"), body.toString());
    }

    private static byte[] message(JsonNode header, String body) throws JsonProcessingException {
        var whole = new ByteArrayOutputStream();
        whole.writeBytes("{\"messageHeader\":".getBytes(StandardCharsets.UTF_8));
        whole.writeBytes(JSON.writeValueAsBytes(header));
        whole.writeBytes((",\"messageBody\":" + body + "}").getBytes(StandardCharsets.UTF_8));
        return whole.toByteArray();
    }

    /** The same UUID for the same name, always. */
    private static String uuidOf(String name) {
        return UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)).toString();
    }

    // Rejecting

    /** The message with its errorCode, for the error or the invalid queue; its body stays as it is. */
    static byte[] decorate(byte[] data, String code) throws IOException {
        var now = Instant.now().truncatedTo(ChronoUnit.MILLIS).toString();
        ObjectNode header;
        String body;
        try {
            header = (ObjectNode) JSON.readTree(text(data)).get("messageHeader");
            body = bodyText(data);
        } catch (IOException | ClassCastException error) {
            header = newHeader(data, now);
            body = JSON.writeValueAsString(rawBody(data));
        }
        var history = header.get("messageHistory") instanceof ArrayNode known ? known : header.putArray("messageHistory");
        history.addObject().put("machineId", "example-consumer").put("machineAddress", "localhost").put("timestamp", now);
        header.put("errorCode", code).put("errorDescription", "The consumer rejected the message with " + code + ".");
        return message(header, body);
    }

    /** A header for bytes that are not JSON: with the messageId that can be found in them. */
    private static ObjectNode newHeader(byte[] data, String now) {
        var found = MESSAGE_ID.matcher(new String(data, StandardCharsets.ISO_8859_1));
        var name = found.find() ? found.group(1) : uuidOf(digest(data));
        var header = JSON.createObjectNode().put("messageId", name);
        header.putObject("messageTimings").put("publishedTimestamp", now);
        header.putObject("messageSequence").put("sequence", name).put("position", 1).put("total", 1);
        return header.put("version", "4.0.0").put("generator", "example-consumer");
    }

    private static ObjectNode rawBody(byte[] data) {
        try {
            return JSON.createObjectNode().put("raw", text(data));
        } catch (CharacterCodingException error) {
            return JSON.createObjectNode().put("rawBase64", Base64.getEncoder().encodeToString(data));
        }
    }
}
