/** Limit of the growth of one text by references: values that refer to each other would double with every step. */
const MAX_ADDED = 8 * 1024

/** Expands `$(NAME)` in commands, arguments and values as a kubelet does; `$$` stands for `$`. A reference beyond the limit stays. */
export function expand(text: string, valueFor: (name: string) => string | undefined): string {
  // Every reference before the last bracket is closed, so one pass finds each of them.
  const end = text.lastIndexOf(')') + 1
  const rest = text.slice(end).replaceAll('$$', () => '$')
  if (end === 0) return rest
  let room = MAX_ADDED
  const replaced = (whole: string, dollar: string | undefined, name = '') => {
    if (dollar !== undefined) return dollar
    const value = valueFor(name)
    if (value === undefined || value.length > room) return whole
    room -= value.length
    return value
  }
  return text.slice(0, end).replace(/\$(?:(\$)|\(([^)]*)\))/g, replaced) + rest
}
