// Installs dependencies when they are missing or older than the lock file, so that `npm start` and `npm test` are enough.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'

const marker = 'node_modules/.package-lock.json'
const isFresh = existsSync(marker) && statSync(marker).mtimeMs >= statSync('package-lock.json').mtimeMs
if (!isFresh) {
  // Not `npm ci`, which insists on every platform's optional binaries, also those that a registry does not have.
  const { status } = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], { stdio: 'inherit' })
  process.exit(status ?? 1)
}
