import { join } from "node:path";

/** The helper that reads foreign files, which tools/build.mjs puts beside the agent. */
export const foreignFilesProgram: string = join(import.meta.dirname, "foreign-files.js");
