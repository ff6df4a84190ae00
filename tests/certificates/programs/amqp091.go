package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	amqp "github.com/rabbitmq/amqp091-go"
)

func failOnError(err error, msg string) {
	if err != nil {
		log.Panicf("%s: %s", msg, err)
	}
}

func main() {
	conn, err := amqp.Dial(os.Getenv("SANDBOX_AMQP_URL"))
	failOnError(err, "Failed to connect to RabbitMQ")
	defer conn.Close()
	ch, err := conn.Channel()
	failOnError(err, "Failed to open a channel")
	defer ch.Close()
	q, err := ch.QueueDeclare(os.Getenv("SANDBOX_QUEUE"), true, false, false, false, nil)
	failOnError(err, "Failed to declare a queue")
	failOnError(ch.Qos(1, 0, false), "Failed to set QoS")
	msgs, err := ch.Consume(q.Name, "", false, false, false, false, nil)
	failOnError(err, "Failed to register a consumer")
	for d := range msgs {
		var message struct{ MessageHeader struct{ MessageId string } }
		failOnError(json.Unmarshal(d.Body, &message), "Failed to read a message")
		fmt.Printf("{\"processed\": \"%s\"}\n", message.MessageHeader.MessageId)
		d.Ack(false)
	}
}
