// Bundles are read as ASCII, which is faster. esbuild leaves other characters only in regular expressions.

/** The same program in ASCII. */
export function inAscii(program) {
  const escaped = character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII has them.
  return program.replace(/[^\u0000-\u007f]/g, escaped)
}
