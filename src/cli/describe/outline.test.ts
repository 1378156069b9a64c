import { expect, test } from "vitest";
import { Outline } from "./outline.ts";

test("what pods and events say cannot move the cursor", () => {
  const outline = new Outline();
  outline.line(1, "Message:", "fine\u001b[2J\u009b1A\rroot");
  expect(outline.toString()).toBe("  Message:  fine\uFFFD[2J\uFFFD1A\uFFFDroot\n");
});
