// Texts whose contrast with what is behind them is under 4.5 to 1, by WCAG's formula.
() => {
  const LEAST = 4.5;
  const canvas = document.createElement("canvas");
  const paint = canvas.getContext("2d", { willReadFrequently: true });

  const rgb = (colour) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const channel = (value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  const light = ([red, green, blue]) => 0.2126 * channel(red) + 0.7152 * channel(green) + 0.0722 * channel(blue);
  const behind = (node) => {
    for (let at = node; at !== null; at = at.parentElement) {
      const found = rgb(getComputedStyle(at).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim() !== "");

  const weak = [];
  for (const node of document.querySelectorAll("body *")) {
    if (!hasText(node) || !node.checkVisibility() || node.closest("script, style, option")) continue;
    const style = getComputedStyle(node);
    const isSvg = node.namespaceURI.endsWith("svg");
    const [text, ground] = [light(rgb(isSvg ? style.fill : style.color)), light(behind(node))];
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    if (ratio < LEAST) weak.push([node.tagName, node.textContent.slice(0, 20), ratio.toFixed(2)]);
  }
  return weak;
}
