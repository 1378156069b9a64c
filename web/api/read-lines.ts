/** The lines of an answer, as they come, without empty ones. Throws when the connection breaks. */
export async function* readLines(response: Response): AsyncGenerator<string, void> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value = "" } = await reader.read();
      if (done) return;
      const lines = `${rest}${value}`.split("\n");
      rest = lines.pop() ?? "";
      yield* lines.filter((line) => line !== "");
    }
  } finally {
    // Whoever stops reading does not want the rest.
    await reader.cancel().catch(() => undefined);
  }
}
