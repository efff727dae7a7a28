// Names in lines: a name is broken between its words only.

/**
 * Breaks a name behind "-", "_", ".", ":", "/" and spaces, and before a capital letter that follows a
 * small one, into lines of `most` characters where its words permit. Joined, the lines are the name.
 */
export function linesOf(name: string, most: number): string[] {
  const words = name.match(/.+?(?:[-_.:/ ]+|(?<=[a-z])(?=[A-Z])|$)/g) ?? [name]
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.trimEnd().length <= most) lines[lines.length - 1] = last + word
    else lines.push(word)
  }
  return lines
}
