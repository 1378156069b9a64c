import { Composer, type Document, Lexer, type LineCounter, Parser } from "yaml";
import { maxDocumentLength, maxNestingDepth } from "../../lib/json-text.ts";

// A line with a key and a value has seven; comments and empty lines have some too.
const maxTokens = 150_000;

/** A text that is too large or too deep, at that offset. */
export class YamlLimitError extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * The documents of a text, one by one; throws a YamlLimitError. The library composes nodes by functions that call themselves,
 * so depth and number are judged while the tokens come, before anything is composed of them.
 */
export function* composeYaml(text: string, lines: LineCounter): Generator<Document.Parsed> {
  if (text.length > maxDocumentLength) {
    throw new YamlLimitError(`larger than ${maxDocumentLength} characters`, 0);
  }
  const composer = new Composer({
    version: "1.1",
    schema: "failsafe",
    strict: false,
    // Compares each key with all before it; where it is needed, a set does it.
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
    logLevel: "silent",
  });
  yield* composer.compose(withFirstErrors(shallowTokens(text, lines)));
}

/** Only the first error of a document is reported, and each takes long to make. */
function* withFirstErrors(tokens: ReturnType<Parser["parse"]>): ReturnType<Parser["parse"]> {
  let isBroken = false;
  for (const token of tokens) {
    if (token.type !== "error" || !isBroken) yield token;
    isBroken = token.type === "error" || (isBroken && token.type !== "document");
  }
}

function* shallowTokens(text: string, lines: LineCounter): ReturnType<Parser["parse"]> {
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let offset = 0;
  let count = 0;
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    offset += lexeme.length;
    count++;
    if (count > maxTokens) {
      const message = `more than ${maxTokens} tokens (keys, values, comments, line breaks): use more files`;
      throw new YamlLimitError(message, offset);
    }
    // The document itself and the scalar that is being read are on the stack too.
    if (parser.stack.length > maxNestingDepth + 2) {
      throw new YamlLimitError(`exceeded max depth of ${maxNestingDepth}`, offset);
    }
  }
  yield* parser.end();
}
