def handler(event, context):
    raise KeyError('header')
