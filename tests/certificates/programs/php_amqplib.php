<?php
require_once 'PhpAmqpLib/autoload.php';

use PhpAmqpLib\Connection\AMQPStreamConnection;

$url = parse_url(getenv('SANDBOX_AMQP_URL'));
$vhost = urldecode(substr($url['path'] ?? '/', 1)) ?: '/';
$connection = new AMQPStreamConnection($url['host'], $url['port'], $url['user'], $url['pass'], $vhost);
$channel = $connection->channel();
$channel->queue_declare(getenv('SANDBOX_QUEUE'), false, true, false, false);
$callback = function ($msg) {
    $message = json_decode($msg->body, true);
    echo json_encode(['processed' => $message['messageHeader']['messageId']]), "\n";
    $msg->ack();
};
$channel->basic_qos(null, 1, null);
$channel->basic_consume(getenv('SANDBOX_QUEUE'), '', false, false, false, false, $callback);
while ($channel->is_consuming()) {
    $channel->wait();
}
