"""Pages that the program writes, taken apart by a parser that is none of ours."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
from PIL import Image


class Page(HTMLParser):
    """Tags, words of every place, and pictures by caption."""

    def __init__(self, path):
        super().__init__()
        self.path, self.tags, self.words, self.sources, self.text = path, [], [], [], path.read_text("utf-8")
        self.feed(self.text)
        self.pictures = {}
        for figure in re.findall(r"<figure>(<img.*?)</figure>", self.text, re.S):
            data = re.search(r'src="data:image/png;base64,([^"]+)"', figure)[1]
            caption = re.search(r"<figcaption>(.*?)</figcaption>", figure)[1]
            self.pictures[caption] = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]

    def handle_data(self, data):
        self.words.append(data)
