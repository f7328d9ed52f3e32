/** While a run is active, nothing may use timers, files, sockets, threads, other processes or chance of the machine: whatever does fails. */
import childProcess from 'node:child_process'
import crypto from 'node:crypto'
import dgram from 'node:dgram'
import dns from 'node:dns'
import fs from 'node:fs'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import net from 'node:net'
import timersPromises from 'node:timers/promises'
import tls from 'node:tls'
import workers from 'node:worker_threads'
import zlib from 'node:zlib'

type Guarded = { readonly target: any; readonly names: readonly string[]; readonly of: string }

const functionsOf = (target: object, isMeant: (name: string) => boolean): string[] =>
  Object.keys(target).filter(name => typeof (target as any)[name] === 'function' && !/^[A-Z_]/.test(name) && isMeant(name))

const ASYNC_ZLIB = (name: string) => !name.endsWith('Sync') && name !== 'crc32'

/** Functions that would leave the run. Those that only calculate, in this thread, are not among them. */
const GUARDED: readonly Guarded[] = [
  { of: 'fs', target: fs, names: functionsOf(fs, () => true) },
  { of: 'fs.promises', target: fs.promises, names: functionsOf(fs.promises, () => true) },
  { of: 'child_process', target: childProcess, names: functionsOf(childProcess, () => true) },
  { of: 'dgram', target: dgram, names: ['createSocket'] },
  { of: 'dns', target: dns, names: functionsOf(dns, name => /^(?:lookup|resolve|reverse)/.test(name)) },
  { of: 'net.Socket', target: net.Socket.prototype, names: ['connect'] },
  { of: 'net.Server', target: net.Server.prototype, names: ['listen'] },
  { of: 'tls', target: tls, names: ['connect'] },
  { of: 'http', target: http, names: ['request', 'get'] },
  { of: 'https', target: https, names: ['request', 'get'] },
  { of: 'http2', target: http2, names: ['connect'] },
  { of: 'worker_threads', target: workers, names: ['Worker'] },
  { of: 'zlib', target: zlib, names: functionsOf(zlib, ASYNC_ZLIB) },
  {
    of: 'crypto',
    target: crypto,
    names: [
      'generateKeyPair',
      'generateKey',
      'generatePrime',
      'checkPrime',
      'pbkdf2',
      'scrypt',
      'hkdf',
      'randomFill',
      'randomInt',
      'randomUUID',
    ],
  },
  { of: 'timers/promises', target: timersPromises, names: ['setTimeout', 'setImmediate', 'setInterval'] },
  { of: 'globalThis', target: globalThis, names: ['setTimeout', 'setInterval', 'setImmediate', 'fetch'] },
  { of: 'AbortSignal', target: AbortSignal, names: ['timeout'] },
  { of: 'Math', target: Math, names: ['random'] },
]

/** Hears of every use while a run is active. */
let hears: ((problem: string) => void) | undefined

/**
 * Each function with its substitute, which is the same in all runs: a module that is loaded during one may keep it, and must get the
 * function itself when no run is active.
 */
const SUBSTITUTES = GUARDED.flatMap(({ of, target, names }) =>
  names.flatMap(name => {
    const own = Object.getOwnPropertyDescriptor(target, name)
    if (!own || (!own.configurable && !own.writable)) return []
    const guarded = function (this: unknown, ...args: unknown[]) {
      if (hears === undefined) return new.target ? Reflect.construct(own.value, args, new.target) : Reflect.apply(own.value, this, args)
      const error = new Error(`${of}.${name} is used inside a run`)
      hears(error.stack!)
      throw error
    }
    const substitute = { configurable: true, enumerable: own.enumerable ?? false, writable: true, value: guarded }
    return [{ target, name, own, substitute }]
  }),
)

/** Guards until the returned function is called. `failed` hears of every use, which throws as well. */
export function guardRun(failed: (problem: string) => void): () => void {
  hears = failed
  for (const { target, name, substitute } of SUBSTITUTES) Object.defineProperty(target, name, substitute)
  return () => {
    for (const { target, name, own } of SUBSTITUTES) Object.defineProperty(target, name, own)
    hears = undefined
  }
}
