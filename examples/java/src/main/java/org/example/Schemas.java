package org.example;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Checks values by the JSON Schemas of RDSS: as much of draft 2020-12 as those use. */
final class Schemas {
    static final Path FOLDER = Path.of(System.getenv().getOrDefault("RDSS_SCHEMAS", "../../schemas/rdss"));

    /** Where a value is wrong, by which keyword, and whether the wrong value stands for a UUID. */
    record Flaw(String path, String keyword, boolean uuid) {}

    private static final String URN = "urn:rdss-sandbox:4.0.0:";
    private final Map<String, JsonNode> documents = new HashMap<>();

    Schemas() {
        try (Stream<Path> files = Files.list(FOLDER.resolve("definitions"))) {
            for (var file : files.toList()) {
                var document = Contract.JSON.readTree(file.toFile());
                documents.put(document.get("$id").asText(), document);
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** The flaws of a value by a definition, such as "header" and "Header". */
    List<Flaw> check(String file, String definition, JsonNode value) {
        var flaws = new ArrayList<Flaw>();
        new Check(URN + file, flaws).value(documents.get(URN + file).get("$defs").get(definition), value, "");
        return flaws;
    }

    /** A check by the schemas of one document. */
    private final class Check {
        private final String document;
        private final List<Flaw> flaws;

        Check(String document, List<Flaw> flaws) {
            this.document = document;
            this.flaws = flaws;
        }

        void value(JsonNode schema, JsonNode value, String path) {
            if (schema.has("$ref")) {
                target(schema).value(definition(schema), value, path);
            }
            require(schema, "type", path, isOfType(schema.path("type").asText(), value));
            require(schema, "const", path, value.equals(schema.get("const")));
            require(schema, "enum", path, schema.has("enum") && holds(schema.get("enum"), value));
            if (value.isTextual()) {
                text(schema, value.asText(), path);
            } else if (value.isArray()) {
                array(schema, value, path);
            } else if (value.isObject()) {
                object(schema, value, path);
            } else if (value.isNumber()) {
                require(schema, "minimum", path, value.asDouble() >= schema.path("minimum").asDouble());
            }
        }

        private void text(JsonNode schema, String text, String path) {
            require(schema, "minLength", path, text.length() >= schema.path("minLength").asInt());
            // "matches" wants the whole text: "$" of Java also stands before a line feed at the end.
            require(schema, "pattern", path, text.matches(schema.path("pattern").asText()));
            if (schema.path("format").asText().equals("date-time")) {
                require(schema, "format", path, isTime(text));
            }
        }

        private void array(JsonNode schema, JsonNode array, String path) {
            require(schema, "minItems", path, array.size() >= schema.path("minItems").asInt());
            var different = new HashSet<JsonNode>();
            array.forEach(different::add);
            require(schema, "uniqueItems", path, different.size() == array.size());
            for (int index = 0; schema.has("items") && index < array.size(); index++) {
                value(schema.get("items"), array.get(index), path + "/" + index);
            }
            if (schema.has("contains")) {
                require(schema, "contains", path, different.stream().anyMatch(each -> meets(schema.get("contains"), each)));
            }
        }

        private void object(JsonNode schema, JsonNode object, String path) {
            for (var name : schema.path("required")) {
                require(schema, "required", path, object.has(name.asText()));
            }
            schema.path("properties").fields().forEachRemaining(each -> {
                if (object.has(each.getKey())) {
                    value(each.getValue(), object.get(each.getKey()), path + "/" + each.getKey());
                }
            });
            var known = names(schema);
            object.fieldNames().forEachRemaining(name -> {
                require(schema, "additionalProperties", path, known.contains(name));
                require(schema, "unevaluatedProperties", path, known.contains(name));
            });
        }

        private void require(JsonNode schema, String keyword, String path, boolean well) {
            if (schema.has(keyword) && !well) {
                flaws.add(new Flaw(path, keyword, schema.path("title").asText().equals("UUID")));
            }
        }

        private boolean meets(JsonNode schema, JsonNode value) {
            var found = new ArrayList<Flaw>();
            new Check(document, found).value(schema, value, "");
            return found.isEmpty();
        }

        /** The fields that a schema and those that it refers to know. */
        private Set<String> names(JsonNode schema) {
            var names = new HashSet<String>();
            schema.path("properties").fieldNames().forEachRemaining(names::add);
            if (schema.has("$ref")) {
                names.addAll(target(schema).names(definition(schema)));
            }
            return names;
        }

        private Check target(JsonNode schema) {
            var name = schema.get("$ref").asText().split("#")[0];
            return new Check(name.isEmpty() ? document : name, flaws);
        }

        private JsonNode definition(JsonNode schema) {
            var pointer = schema.get("$ref").asText().split("#")[1];
            return documents.get(target(schema).document).at(pointer);
        }
    }

    private static boolean isOfType(String type, JsonNode value) {
        return switch (type) {
            case "string" -> value.isTextual();
            case "object" -> value.isObject();
            case "array" -> value.isArray();
            case "boolean" -> value.isBoolean();
            case "number" -> value.isNumber();
            case "integer" -> value.isNumber() && value.decimalValue().stripTrailingZeros().scale() <= 0;
            default -> true;
        };
    }

    private static boolean holds(JsonNode array, JsonNode value) {
        for (var each : array) {
            if (each.equals(value)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isTime(String text) {
        try {
            OffsetDateTime.parse(text.toUpperCase());
            return true;
        } catch (DateTimeException error) {
            return false;
        }
    }
}
