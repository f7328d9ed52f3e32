// The programs of the server's worker threads, as strings: one file is simpler to ship, and to bundle again, than one that has to find
// another.
import { deflateRawSync } from 'node:zlib'
import { build } from 'esbuild'

/** Options of every bundle. */
export const SHARED = {
  bundle: true,
  platform: 'node',
  target: 'node20',
  // Native code cannot be bundled; rarely used modules are loaded from their own packages.
  external: ['lmdb', 'pino', 'ws'],
  legalComments: 'none',
  logLevel: 'warning',
  // The bundle's comments name its parts by path: with symbolic links to packages they would contain a path of this machine.
  preserveSymlinks: true,
}

/** The definitions of esbuild that replace the names which the sources declare for these texts. */
export async function workerDefinitions(define = {}) {
  const textOf = async entry => {
    const { outputFiles } = await build({ ...SHARED, define, entryPoints: [entry], format: 'cjs', minify: true, write: false })
    return outputFiles[0].text
  }
  const [transcode, validation, command] = await Promise.all(
    ['src/codec/transcode-worker.ts', 'src/server/validation/validation-worker.ts', 'src/nodes/script/command-worker.ts'].map(textOf),
  )
  return {
    KEELSON_TRANSCODE_WORKER: JSON.stringify(transcode),
    KEELSON_VALIDATION_WORKER: JSON.stringify(packed(validation)),
    KEELSON_COMMAND_WORKER: JSON.stringify(packed(command)),
  }
}

/** Compressed, since every start would read code that few servers need. */
function packed(text) {
  return deflateRawSync(text, { level: 9 }).toString('base64')
}
