import { join } from "node:path";
import { unpackDebianPackage } from "./debian-package.ts";
import { libraryFolders, onPath, type Program } from "./server-program.ts";

const NAMES = ["chromium-headless-shell", "chromium", "google-chrome"];
const PACKAGE = "chromium-headless-shell";

/** A browser to be driven without a screen: the one of this machine, else Debian's, unpacked into the cache. */
export async function chromium(): Promise<Program> {
  const installed = NAMES.map(onPath).find((path) => path !== undefined);
  if (installed) return { path: installed, env: {} };
  if (process.platform === "darwin") {
    throw new Error("chromium is not installed. Install it with: brew install --cask chromium");
  }
  const root = await unpackDebianPackage(PACKAGE);
  // The program itself: the script around it looks for it where a package would have been installed.
  const path = join(root, "usr/lib/chromium/chromium-headless-shell");
  // The sound library has a part of its own in a folder that only its build knows.
  const folders = libraryFolders(root).flatMap((folder) => [folder, join(folder, "pulseaudio")]);
  return { path, env: { LD_LIBRARY_PATH: folders.join(":") } };
}
