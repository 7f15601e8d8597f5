import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Plugin } from "vite";

/** Puts the script and the style into the html itself, with a policy that allows exactly these two by their hash. */
export function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const html = bundle["index.html"];
      if (html?.type !== "asset") throw new Error("no index.html in the bundle");
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += String(file.source);
        else if (name !== "index.html") throw new Error(`${name} would be a file of its own`);
        delete bundle[name];
      }
      // Inside a script element these two would end it or hide its end; in the strings where they stand \x3C is the same.
      script = script.replaceAll("</script", "\\x3C/script").replaceAll("<!--", "\\x3C!--").trim();
      style = style.trim();
      const source = String(html.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace(
          "<title>",
          () => `<meta http-equiv="Content-Security-Policy" content="${policy(script, style)}">\n    <title>`,
        )
        .replace("</head>", () => `  <style>${style}</style>\n  </head>`)
        .replace("</body>", () => `  <script type="module">${script}</script>\n  </body>`)
        .replace("<head>", () => `${licences()}\n  <head>`);
      this.emitFile({ type: "asset", fileName: "page.html", source });
    },
  };
}

const LIBRARIES = ["three", "uplot"]; // what is inside the script

/** A comment with the licences of the libraries in the page: they ask to go with every copy, and every page is one. */
export function licences(): string {
  const text = (name: string): string => readFileSync(new URL(`node_modules/${name}/LICENSE`, import.meta.url), "utf8");
  return `<!--\n${LIBRARIES.map((name) => `${name}: ${text(name).trim()}`)
    .join("\n\n")
    .replaceAll("--", "- -")}\n-->`;
}

/** The content security policy of the page: nothing but its own script and style, and no request at all. */
export function policy(script: string, style: string): string {
  const hash = (text: string): string => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data: blob:",
    "connect-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}
