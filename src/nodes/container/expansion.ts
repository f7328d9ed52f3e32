/** What references may add to one text: values that refer to each other would double with every step. */
const MAX_ADDED = 8 * 1024

/** `$(NAME)` in commands, arguments and values of variables, which a kubelet replaces; `$$` stands for `$`. What does not fit stays as it is. */
export function expand(text: string, valueFor: (name: string) => string | undefined): string {
  // Whatever begins before the last bracket ends somewhere, so that each reference is found in one look.
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
