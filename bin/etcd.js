#!/usr/bin/env node
// Stands in for etcd where a test harness starts one before kube-apiserver: answers its health checks and tells `keelson
// kube-apiserver` which folder to keep data in, so that a server that is started again finds what it had.
const { createServer } = require('node:http')
const { mkdirSync } = require('node:fs')
const { resolve } = require('node:path')

const SWITCHES = ['exit-with-parent']

/** The last of a flag, as `--name value`, `--name=value` or with one dash, or its environment variable. A switch takes its value only after `=`. */
function flag(name) {
  for (let i = process.argv.length - 1; i >= 0; i--) {
    const [, given, value] = /^--?([a-z-]+)(?:=(.*))?$/.exec(process.argv[i]) ?? []
    if (given === name) return value ?? (SWITCHES.includes(name) ? 'true' : process.argv[i + 1])
  }
  return process.env[`ETCD_${name.replaceAll('-', '_').toUpperCase()}`]
}

/** On Windows a process keeps the number of a parent that has ended. */
function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

const VERSION = { etcdserver: '3.6.5', etcdcluster: '3.6.0' }
if (process.argv.some(arg => /^--?(version|help|h)$/.test(arg))) {
  process.stdout.write(`etcd Version: ${VERSION.etcdserver} (a stand-in of Keelson)\n`)
  process.exit(0)
}

const dataDir = resolve(flag('data-dir') ?? 'default.etcd')
mkdirSync(dataDir, { recursive: true, mode: 0o700 })
const answers = { '/health': { health: 'true', reason: '' }, '/version': VERSION, '/keelson': { dataDir } }

const servers = (flag('listen-client-urls') ?? 'http://127.0.0.1:2379').split(',').map(text => {
  const { hostname, port } = new URL(text)
  const server = createServer((request, response) => {
    const answer = answers[request.url.split('?')[0]]
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json', connection: 'close' })
    response.end(answer ? JSON.stringify(answer) : '')
  })
  server.on('error', error => {
    process.stderr.write(`etcd: ${error.message}\n`)
    process.exit(1)
  })
  return server.listen(Number(port), hostname.replace(/^\[(.*)\]$/, '$1'))
})
// Ends with the harness that started it, however that ends.
if (flag('exit-with-parent') === 'true') {
  const parent = process.ppid
  setInterval(() => (process.ppid === parent && isAlive(parent)) || process.exit(0), 250).unref()
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
  process.on(signal, () => {
    for (const server of servers) server.close()
    process.exit(0)
  })
