/** `$(NAME)` in commands, arguments and values of variables, which a kubelet replaces; `$$` stands for `$`. */
export function expand(text: string, valueFor: (name: string) => string | undefined): string {
  // Whatever begins before the last bracket ends somewhere, so that each reference is found in one look.
  const end = text.lastIndexOf(')') + 1
  const rest = text.slice(end).replaceAll('$$', () => '$')
  if (end === 0) return rest
  const replaced = (whole: string, dollar: string | undefined, name = '') => dollar ?? valueFor(name) ?? whole
  return text.slice(0, end).replace(/\$(?:(\$)|\(([^)]*)\))/g, replaced) + rest
}
