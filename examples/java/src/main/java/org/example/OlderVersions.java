package org.example;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** Messages of version 3.x in the form of 4.0.0: names instead of numbers, and some fields renamed. */
final class OlderVersions {
    private static final JsonNode NAMES = readNames();
    private static final Set<String> PLURAL = Set.of("objectKeywords", "collectionKeywords", "fileTechnicalAttributes");

    private OlderVersions() {}

    private static JsonNode readNames() {
        try {
            return Contract.JSON.readTree(Schemas.FOLDER.resolve("vocabulary_3.json").toFile());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** A message in the form of 4.0.0; of a part the header alone. Throws IllegalArgumentException where it has none. */
    static JsonNode upgrade(JsonNode message, boolean part) {
        if (!(message.get("messageHeader") instanceof ObjectNode old)) {
            throw new IllegalArgumentException("the message has no header");
        }
        var header = old.deepCopy();
        var upgraded = Contract.JSON.createObjectNode();
        var body = part ? message.get("messageBody") : value(message.path("messageBody"));
        if (!header.has("tenantJiscID")) {
            header.put("tenantJiscID", part ? 0 : tenantOf(body));
        }
        if (!part) {
            header.put("version", "4.0.0");
        }
        upgraded.set("messageHeader", header);
        upgraded.set("messageBody", body);
        return upgraded;
    }

    /** The institution that hosts the object, else the first organisation. */
    private static int tenantOf(JsonNode body) {
        return StreamSupport.stream(body.path("objectOrganisationRole").spliterator(), false)
                .sorted(Comparator.comparing(each -> !each.path("role").asText().equals("hostingInstitution")))
                .map(each -> each.at("/organisation/organisationJiscId"))
                .filter(JsonNode::isInt)
                .map(JsonNode::asInt)
                .findFirst().orElse(0);
    }

    private static JsonNode value(JsonNode value) {
        if (value.isArray()) {
            var array = Contract.JSON.createArrayNode();
            value.forEach(each -> array.add(value(each)));
            return array;
        }
        if (!value.isObject()) {
            return value;
        }
        var object = Contract.JSON.createObjectNode();
        value.fields().forEachRemaining(each -> {
            if (!each.getKey().equals("objectPreservationEvent")) {
                object.set(name(each.getKey()), field(each.getKey(), each.getValue(), value));
            }
        });
        return object;
    }

    private static String name(String old) {
        return PLURAL.contains(old) ? old.substring(0, old.length() - 1) : old.replaceAll("Uuid$", "UUID");
    }

    private static JsonNode field(String name, JsonNode content, JsonNode holder) {
        if (name.equals("objectDescription") && content.isTextual()) {
            var descriptions = Contract.JSON.createArrayNode();
            descriptions.addObject().put("descriptionValue", content.asText()).put("descriptionType", "description");
            return descriptions;
        }
        if (name.equals("filePreservationEvent") && content.isArray()) {
            var events = new ArrayList<String>();
            content.forEach(each -> events.add(eventInWords(each)));
            return Contract.JSON.getNodeFactory().textNode(String.join("; ", events));
        }
        var key = !name.equals("role") ? name : holder.has("person") ? "person" : "organisation";
        return NAMES.path(key).isArray() && content.isInt() ? nameOf(key, content.asInt()) : value(content);
    }

    private static JsonNode nameOf(String key, int number) {
        var found = NAMES.get(key).path(number - 1);
        if (!found.isTextual()) {
            throw new IllegalArgumentException(key + " " + number + " has no name in 4.0.0");
        }
        return found;
    }

    private static String eventInWords(JsonNode event) {
        var kind = nameOf("preservationEventType", event.path("preservationEventType").asInt()).asText();
        var value = event.path("preservationEventValue").asText();
        var detail = event.path("preservationEventDetail").asText();
        return Stream.of(kind, value, detail).filter(each -> !each.isEmpty()).collect(Collectors.joining(": "));
    }
}
