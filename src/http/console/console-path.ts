/** Tells requests of the console from all others, before anything of the console is loaded. */
export const CONSOLE_PATH = '/console'

/** Every request passes here, so it looks at no more than it has to. */
export function isOfConsole(target: string): boolean {
  if (!target.startsWith(CONSOLE_PATH)) return false
  const next = target[CONSOLE_PATH.length]
  return next === undefined || next === '/' || next === '?'
}
