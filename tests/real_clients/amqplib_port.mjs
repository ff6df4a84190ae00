// amqplib's suite connects to RabbitMQ's usual port: with --import of this it comes to AMQP_PORT instead.
import net from "node:net";

const connect = net.connect;
const port = Number(process.env.AMQP_PORT);

net.connect = (options, ...rest) =>
  connect(options.port === 5672 || options.port === "5672" ? { ...options, port } : options, ...rest);
