/** The program as a single executable: Node, the command and its files in one (scripts/build-executable.mjs). */

/** Set by the build of the executable alone. */
declare const KEELSON_EXECUTABLE: true | undefined

/** Whether this is the single executable. */
export const IS_EXECUTABLE: boolean = typeof KEELSON_EXECUTABLE !== 'undefined'

/** The command that starts this program again: Node and its script, or the executable. */
export const ownCommand = (): readonly [program: string, ...args: string[]] =>
  IS_EXECUTABLE ? [process.execPath] : [process.execPath, ...process.execArgv, process.argv[1] ?? '']

/**
 * The command that runs a small program of Node in a process of its own, in which `process.argv[1]` is the first argument. The executable
 * takes no flags of Node, so its main program (scripts/executable-entry.cjs) has a name for it.
 */
export const commandToEvaluate = (program: string, ...args: readonly string[]): readonly [program: string, ...args: string[]] => [
  process.execPath,
  IS_EXECUTABLE ? 'evaluate-program' : '-e',
  program,
  ...args,
]

/** A file that the build has put into the executable. */
export async function packedFile(name: string): Promise<Buffer> {
  const { getRawAsset } = await import('node:sea')
  return Buffer.from(getRawAsset(name) as ArrayBuffer)
}
