"""The watch page: what a running sandbox looks like, live in a browser.

streams, readers, faults, events --> picture_maker --> GET /picture, twice a second at most --> watch.js
"""
