"""Commands that send and receive messages, or make and judge them."""
