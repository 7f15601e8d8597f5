/** Elements, made by code only: text goes in as text, never as markup. */

import { last } from "./at";

type Child = Node | string | null;

export interface Attributes {
  readonly class?: string;
  readonly text?: string;
  readonly [name: string]: string | number | boolean | undefined;
}

function fill(element: Element, attributes: Attributes, children: readonly Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name === "text") element.textContent = String(value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
}

/** An HTML element. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  fill(element, attributes, children);
  return element;
}

/** A button that runs `action`. */
export function button(
  label: string,
  title: string,
  action: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  const element = el("button", { type: "button", title, ...attributes, text: label });
  element.addEventListener("click", action);
  return element;
}

/** Takes `make` along when the element gets its first size and whenever that changes. */
export function onResize(element: Element, make: (width: number, height: number) => void): void {
  let width = 0;
  let height = 0;
  new ResizeObserver((entries) => {
    const box = last(entries).contentRect;
    if (box.width === width && box.height === height) return;
    width = box.width;
    height = box.height;
    if (width > 0) make(width, height);
  }).observe(element);
}

/** What a canvas is drawn on with. */
export function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser draws on no canvas");
  return context;
}

/** The value of a custom property of the page's style, as `--ink`. */
export function styleValue(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
