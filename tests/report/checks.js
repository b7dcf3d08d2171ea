// What a reader's eyes would find, as a list of sentences: runs in the page, with every part of it open.
(() => {
  const found = new Set();
  const leastPixels = 12, leastContrast = 4.5;
  for (const details of document.querySelectorAll("details")) details.open = true;

  if (document.documentElement.scrollWidth > innerWidth)
    found.add(`the page is ${document.documentElement.scrollWidth} pixels wide in a window of ${innerWidth}`);

  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = channels(color).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const backgrounds = new Map();
  const background = (element) => {
    if (!element) return matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)";
    if (!backgrounds.has(element)) {
      const color = getComputedStyle(element).backgroundColor, [, , , alpha = 1] = channels(color);
      backgrounds.set(element, alpha > 0 ? color : background(element.parentElement));
    }
    return backgrounds.get(element);
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement, text = node.data.trim().slice(0, 40);
    if (!text || element.closest("title, style, script") || !element.checkVisibility({ visibilityProperty: true })) continue;
    const style = getComputedStyle(element), drawn = element.closest("svg") !== null;
    const scale = drawn ? element.getScreenCTM().a : 1, size = parseFloat(style.fontSize) * scale;
    if (size < leastPixels) found.add(`text of ${size.toFixed(1)} pixels: ${text}`);
    const color = drawn ? style.fill : style.color, ratio = contrast(color, background(element));
    if (ratio < leastContrast) found.add(`contrast of ${ratio.toFixed(2)}, ${color} on ${background(element)}: ${text}`);
  }

  for (const plot of document.querySelectorAll("svg.plot")) {
    const frame = plot.getBoundingClientRect();
    const boxes = [...plot.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    boxes.forEach(([text, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        found.add(`${plot.getAttribute("aria-label")}: "${text}" is cut off`);
      for (const [other, otherBox] of boxes.slice(i + 1))
        if (box.left < otherBox.right && otherBox.left < box.right && box.top < otherBox.bottom - 1 && otherBox.top < box.bottom - 1)
          found.add(`${plot.getAttribute("aria-label")}: "${text}" and "${other}" overlap`);
    });
    if (!plot.querySelector("circle, path.winner, path.default, path.wrong")) found.add("a chart without a mark");
    if (!plot.getAttribute("aria-label")) found.add("a chart without a name");
  }
  for (const box of document.querySelectorAll(".scroll"))
    if (box.getBoundingClientRect().right > innerWidth) found.add("a table reaches out of the window");
  return [...found];
})();
