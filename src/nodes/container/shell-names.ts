/** The names and an exit code of shells: all that a start loads of the simulated shell. */

const SHELLS = ['sh', 'bash', 'ash', 'dash']

/** The last part of a path. */
export const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

/** Whether a program is a shell. */
export const isShell = (program: string): boolean => SHELLS.includes(baseName(program))

/** The exit code of shells for a command that is there and cannot be executed. */
export const CANNOT_EXECUTE = 126
