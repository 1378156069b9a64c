/** The text without those characters at its end. An expression such as /x+$/ would try again at each of them inside the text. */
export function trimEndOf(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] ?? "")) end--;
  return text.slice(0, end);
}
