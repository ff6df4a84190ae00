import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.DefaultConsumer;
import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Envelope;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;

public class Worker {
    public static void main(String[] argv) throws Exception {
        var factory = new ConnectionFactory();
        factory.setUri(System.getenv("SANDBOX_AMQP_URL"));
        var connection = factory.newConnection();
        var channel = connection.createChannel();
        var queue = System.getenv("SANDBOX_QUEUE");
        var id = Pattern.compile("\"messageId\": ?\"([^\"]+)\"");
        channel.queueDeclare(queue, true, false, false, null);
        channel.basicQos(1);
        channel.basicConsume(queue, false, new DefaultConsumer(channel) {
            @Override
            public void handleDelivery(String tag, Envelope envelope, AMQP.BasicProperties properties, byte[] body)
                    throws IOException {
                var found = id.matcher(new String(body, StandardCharsets.UTF_8));
                if (!found.find()) {
                    throw new IOException("no message");
                }
                System.out.println("{\"processed\": \"" + found.group(1) + "\"}");
                channel.basicAck(envelope.getDeliveryTag(), false);
            }
        });
    }
}
