import { linuxForeignFiles } from "../../src/drivers/linux/foreign-files.ts";
import { ForeignHelpers } from "../../src/drivers/linux/foreign-helpers.ts";
import { HungPaths } from "../../src/drivers/linux/hung-paths.ts";
import type { ForeignFiles } from "../../src/ports/foreign-files.ts";
import { bundledEntry } from "./bundled-entry.ts";

/** The helper for foreign files. */
export function foreignFilesProgram(): string {
  return bundledEntry("src/drivers/linux/foreign/main.ts");
}

/** The foreign files of this machine, with helpers of the test's own. */
export function testForeignFiles(hungPaths: HungPaths = new HungPaths(Date.now)): ForeignFiles {
  return linuxForeignFiles(new ForeignHelpers(foreignFilesProgram(), hungPaths), Date.now);
}
