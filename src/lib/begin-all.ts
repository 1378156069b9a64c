type Work = () => Promise<unknown>;

/**
 * Begins everything at once and resolves with all results, as Promise.all does. Where one throws before it returns a promise,
 * that counts as its rejection: thrown from a list of calls, it would leave the rejections of the others unhandled.
 */
export function beginAll<const All extends readonly Work[]>(
  ...all: All
): Promise<{ -readonly [Index in keyof All]: Awaited<ReturnType<All[Index]>> }> {
  return Promise.all(all.map(begin)) as ReturnType<typeof beginAll<All>>;
}

function begin(work: Work): Promise<unknown> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error);
  }
}
