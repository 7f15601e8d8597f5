import { defineConfig } from "vite";
import { oneFile } from "./one_file.ts";

export default defineConfig({
  plugins: [oneFile()],
  build: {
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    target: "es2022",
    chunkSizeWarningLimit: 2000,
  },
});
