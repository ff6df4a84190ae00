require "bunny"
require "json"

$stdout.sync = true
connection = Bunny.new(ENV["SANDBOX_AMQP_URL"])
connection.start
channel = connection.create_channel
queue = channel.queue(ENV["SANDBOX_QUEUE"], durable: true)
channel.prefetch(1)
queue.subscribe(manual_ack: true, block: true) do |delivery_info, _properties, body|
  puts JSON.generate({ processed: JSON.parse(body)["messageHeader"]["messageId"] })
  channel.ack(delivery_info.delivery_tag)
end
