/** Tables as CSV and as tab-separated text, safe to open in a spreadsheet. */

export type Cell = string | number | null;

/** Text that a spreadsheet would run as a formula gets an apostrophe before it; numbers stay numbers. */
export function neutral(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a formula may stand behind them
  return /^[\s\u0000-\u001f]*[=+\-@\uff1d\uff0b\uff0d\uff20|%]/.test(text) || /^[\t\r\n]/.test(text)
    ? `'${text}`
    : text;
}

function plain(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : "";
  return neutral(cell);
}

/** Comma-separated, quoted where needed, with the mark that tells spreadsheets it is UTF-8. */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = rows.map((row) => row.map((cell) => quoted(plain(cell))).join(","));
  return `\ufeff${lines.join("\r\n")}\r\n`;
}

/** Tab-separated, for pasting into a spreadsheet. */
export function toTabs(rows: readonly (readonly Cell[])[]): string {
  const lines = rows.map((row) => row.map((cell) => plain(cell).replace(/[\t\r\n]+/g, " ")).join("\t"));
  return `${lines.join("\n")}\n`;
}

/** Hands a text to the reader as a file. */
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Puts a text on the clipboard, also where a page opened from a file may not use the clipboard's own interface. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "off-screen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
