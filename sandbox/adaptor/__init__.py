"""The Channel Adaptor: publishes the changes of an application that does not send messages itself."""
