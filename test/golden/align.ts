/** What belongs together in two lists; one side is absent where the other list has more. */
export interface Pair<T> {
  readonly recorded?: T | undefined;
  readonly berth?: T | undefined;
}

/** Pairs two lists by the longest common subsequence of their keys. */
export function align<T>(
  recorded: readonly T[],
  berth: readonly T[],
  key: (element: T) => string,
): readonly Pair<T>[] {
  const lengths = commonLengths(recorded.map(key), berth.map(key));
  const pairs: Pair<T>[] = [];
  let row = 0;
  let column = 0;
  while (row < recorded.length || column < berth.length) {
    const left = recorded[row];
    const right = berth[column];
    const down = lengths[row + 1]?.[column] ?? -1;
    const across = lengths[row]?.[column + 1] ?? -1;
    if (left !== undefined && right !== undefined && key(left) === key(right)) {
      pairs.push({ recorded: left, berth: right });
      row += 1;
      column += 1;
    } else if (right === undefined || (left !== undefined && down >= across)) {
      pairs.push({ recorded: left });
      row += 1;
    } else {
      pairs.push({ berth: right });
      column += 1;
    }
  }
  return pairs;
}

/** Cell [row][column]: the length of the longest common subsequence of what follows there. */
function commonLengths(left: readonly string[], right: readonly string[]): readonly number[][] {
  const lengths = Array.from({ length: left.length + 1 }, () =>
    Array.from({ length: right.length + 1 }, () => 0),
  );
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      const cells = lengths[row] ?? [];
      const below = lengths[row + 1] ?? [];
      cells[column] =
        left[row] === right[column]
          ? (below[column + 1] ?? 0) + 1
          : Math.max(below[column] ?? 0, cells[column + 1] ?? 0);
    }
  }
  return lengths;
}
