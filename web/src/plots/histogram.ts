import { el, svg } from "../dom";

interface Line {
  readonly value: number;
  readonly name: string;
}

/** How often each size of the gap occurs, lying on its side so that its axis is that of the plot beside it. */
export class HistogramView {
  readonly element = el("div", { class: "histogram" });
  private counts: Uint32Array = new Uint32Array(0);
  private lines: readonly Line[] = [];
  private top = 1;
  private y = 0;
  private height = 100;

  show(counts: Uint32Array, top: number, lines: readonly Line[]): void {
    this.counts = counts;
    this.top = top;
    this.lines = lines;
    this.draw();
  }

  /** Where the plot's own area begins and how high it is [px]. */
  fit(y: number, height: number): void {
    this.y = y;
    this.height = height;
    this.draw();
  }

  private draw(): void {
    const width = Math.max(60, this.element.clientWidth || 120);
    const most = Math.max(1, ...this.counts);
    const total = this.counts.reduce((a, b) => a + b, 0) || 1;
    const bin = this.height / Math.max(1, this.counts.length);
    const picture = svg("svg", {
      width,
      height: this.y + this.height + 28,
      role: "img",
      "aria-label": "Histogram of the gap",
    });
    this.counts.forEach((n, i) => {
      if (n === 0) return;
      const low = (i * this.top) / this.counts.length;
      const high = ((i + 1) * this.top) / this.counts.length;
      const bar = svg("rect", {
        x: 0,
        y: this.y + this.height - (i + 1) * bin + 0.5,
        width: Math.max(1, (n / most) * (width - 4)),
        height: Math.max(1, bin - 1),
      });
      bar.append(
        svg("title", {
          text: `${low.toFixed(1)} to ${high.toFixed(1)} mm: ${n} frames, ${((n / total) * 100).toFixed(1)} %`,
        }),
      );
      picture.append(bar);
    });
    let before = Infinity;
    for (const { value, name } of this.lines) {
      if (!(value <= this.top)) continue;
      const y = this.y + this.height * (1 - value / this.top);
      picture.append(svg("line", { x1: 0, x2: width, y1: y, y2: y }));
      const text = svg("text", { x: width - 2, y: Math.min(y - 3, before - 12), "text-anchor": "end", text: name });
      before = y;
      picture.append(text);
    }
    this.element.replaceChildren(picture);
  }
}
