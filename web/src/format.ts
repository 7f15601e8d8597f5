/** Numbers and names as people read them: millimetres, degrees, seconds. */

export const NONE = "–";

/** A number with so many decimals, and no minus before a zero. */
export function fixed(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace("-", "") : text;
}

/** A length in millimetres from metres, with as many decimals as it is worth: 0.42, 8.5, 174.7. */
export function mm(metres: number | null, decimals?: number): string {
  if (metres === null || !Number.isFinite(metres)) return NONE;
  const value = metres * 1000;
  const size = Math.abs(value);
  if (decimals !== undefined) return fixed(value, decimals);
  if (size > 0 && size < 0.0005) return "< 0.001";
  return fixed(value, size > 0 && size < 0.005 ? 3 : size < 1 ? 2 : 1);
}

/** An angle in degrees from radians. */
export function degrees(radians: number | null): string {
  if (radians === null || !Number.isFinite(radians)) return NONE;
  const value = (radians * 180) / Math.PI;
  return fixed(value, Math.abs(value) < 9.95 ? 1 : 0);
}

/** A share between 0 and 1, never rounded up: 0.94, 0.999. */
export function share(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return NONE;
  return value < 0.95 ? (Math.floor(value * 100) / 100).toFixed(2) : (Math.floor(value * 1000) / 1000).toFixed(3);
}

/** A moment in seconds, with minutes from one minute on: 3.25 s, 2:05.10. */
export function clock(seconds: number, decimals = 2): string {
  if (!Number.isFinite(seconds)) return NONE;
  if (Math.abs(seconds) < 60) return `${fixed(seconds, decimals)} s`;
  const step = 10 ** decimals;
  const whole = Math.round(Math.abs(seconds) * step);
  const minutes = Math.floor(whole / (60 * step));
  const rest = ((whole - minutes * 60 * step) / step).toFixed(decimals);
  return `${seconds < 0 ? "-" : ""}${minutes}:${rest.padStart(decimals ? 3 + decimals : 2, "0")}`;
}

/** How long something lasts: 45.0 s, 10 min 0 s. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** A count with thin spaces between thousands. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

/** A name from a file in a shape that cannot disturb a line: control and direction marks become visible signs. */
export function shown(name: string): string {
  const visible = visibly(name);
  return visible.trim() === "" ? "‹no name›" : visible;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is made visible
const CONTROLS = /[\u0000-\u001f]/g;
const INVISIBLE = /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu;

/** Any text from a file, with control and direction marks made visible. */
export function visibly(text: string): string {
  return text
    .replace(CONTROLS, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)))
    .replace(INVISIBLE, (sign) => `‹${sign.codePointAt(0)?.toString(16).toUpperCase()}›`);
}

/** A name short enough for a drawing; the whole one belongs in the title beside it. */
export function short(name: string, most = 24): string {
  const letters = [...shown(name)];
  if (letters.length <= most) return letters.join("");
  const head = Math.ceil((most - 1) * 0.6);
  return `${letters.slice(0, head).join("")}…${letters.slice(letters.length - (most - 1 - head)).join("")}`;
}

/** As `roundUp`, in finer steps: for the end of a scale. */
export function roundEnd(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const step = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((s) => s * power >= value * (1 - 1e-9)) ?? 10;
  return Number((step * power).toPrecision(2));
}

/** The nearest of the round steps 1, 2, 5, 10, 20 ..., by ratio. */
export function roundNear(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const off = (step: number): number => Math.abs(Math.log(step * power) - Math.log(value));
  const step = [1, 2, 5, 10].reduce((a, b) => (off(b) < off(a) ? b : a));
  return Number((step * power).toPrecision(1));
}

/** The round step 1, 2, 5, 10, 20 ... not below `value`. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  const step = [1, 2, 5, 10].find((s) => s * power >= value * (1 - 1e-9)) ?? 10;
  return Number((step * power).toPrecision(1));
}
