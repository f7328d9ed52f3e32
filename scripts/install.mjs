// Installs dependencies when they are missing or older than the lock file, so that `npm start` and `npm test` are enough.
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'

const marker = 'node_modules/.package-lock.json'
const isFresh = existsSync(marker) && statSync(marker).mtimeMs >= statSync('package-lock.json').mtimeMs
if (!isFresh) {
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { stdio: 'inherit' })
  process.exit(status ?? 1)
}
