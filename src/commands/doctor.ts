/** `keelson doctor`: lists the problems of a server or a data directory, and mends those that it can if told to. */
import { createInterface } from 'node:readline/promises'
import type { Finding } from '../server/doctor/findings.ts'
import { fixInFolder, fixThroughApi, type Outcome } from '../server/doctor/fix.ts'
import { examineFolder, examineServer, type OnProgress, type Report } from '../server/doctor/report.ts'
import { apiClient } from './api-client.ts'
import { outputOf, readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { findPlace, PLACE_FLAGS, type Place } from './place.ts'
import { Progress } from './progress.ts'
import { sizeText, tableText } from './text.ts'

/** Something is wrong. Other failures exit with 1: nothing could be examined. */
const WRONG = 3

export const doctor: Command = async args => {
  const usage = 'keelson doctor [--fix [--yes]] [--output json] [--data-dir DIR | --kubeconfig FILE]'
  const given = readArguments(args, { flags: [...PLACE_FLAGS, 'output'], switches: ['fix', 'yes'], usage })
  const output = outputOf(given, ['text', 'json'])
  const place = findPlace(given)
  const report = await examine(place)
  const fixed = given.has('fix') ? await fixAll(place, report, { isSure: given.has('yes'), isQuiet: output === 'json' }) : undefined
  if (output === 'json') process.stdout.write(`${JSON.stringify({ ...report, ...(fixed && { fixed }) }, undefined, 2)}\n`)
  else process.stdout.write(textOf(report, fixed))
  const left = report.findings.length - (fixed?.filter(({ isDone }) => isDone).length ?? 0)
  return left === 0 ? 0 : WRONG
}

async function examine(place: Place): Promise<Report> {
  const progress = new Progress(process.stderr, { linesElsewhere: false })
  const onProgress: OnProgress = (done, total) => progress.show(done, total)
  try {
    if (place.kind === 'folder') return await examineFolder(place.dir, new Date(), onProgress)
    const { server, ca, cert } = place.access
    return await examineServer(apiClient(place.access), { url: server, ca, cert }, onProgress)
  } finally {
    progress.end()
  }
}

type Fixed = Outcome & { readonly subject: string }

/** Applies the fixes one by one. The user confirms each that removes something, unless `isSure`. */
async function fixAll(place: Place, { findings }: Report, { isSure, isQuiet }: { isSure: boolean; isQuiet: boolean }): Promise<Fixed[]> {
  const fixed: Fixed[] = []
  let renewed: Outcome | undefined
  for (const { subject, message, fix } of findings) {
    if (!fix) continue
    const mend = () => (place.kind === 'folder' ? fixInFolder(place.dir, fix, new Date()) : fixThroughApi(apiClient(place.access), fix))
    if (fix.kind === 'renew-certificates') fixed.push({ subject, ...(renewed ??= await mend()) })
    else if (fix.kind !== 'remove-record' || isSure || (!isQuiet && (await asks(`remove the record ${subject} (${message})?`))))
      fixed.push({ subject, ...(await mend()) })
    else fixed.push({ subject, isDone: false, text: `${subject} was left: answer y, or run with --fix --yes` })
  }
  return fixed
}

async function asks(question: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim())
  } finally {
    lines.close()
  }
}

const SHOWN_KINDS = 8
const SHOWN_REQUESTS = 5
const DAY = 24 * 3600_000

function textOf(report: Report, fixed: readonly Fixed[] | undefined): string {
  const sections = [
    `Examined ${report.examined}\n`,
    `${figuresOf(report)
      .map(([name, text]) => `  ${name.padEnd(14)}${text}\n`)
      .join('')}`,
    kindsOf(report),
    requestsOf(report),
    report.skipped.length === 0 ? '' : `Not examined\n${report.skipped.map(({ check, reason }) => `  ${check}: ${reason}\n`).join('')}`,
    fixed && fixed.length > 0 ? `Fixes\n${fixed.map(({ isDone, text }) => `  ${isDone ? '✓' : '–'} ${text}\n`).join('')}` : '',
    verdictOf(report, fixed),
  ]
  return sections.filter(section => section !== '').join('\n')
}

function figuresOf({ store, records, certificates, clockAheadMs, time }: Report): [string, string][] {
  const figures: [string, string][] = []
  if (store) {
    const { bytes, usedBytes, freePages, quotaBytes, revision, oldestRevision, heldRevision, readers = [] } = store
    const quota = quotaBytes === undefined ? '' : ` of ${sizeText(quotaBytes)}`
    const size =
      bytes === undefined || usedBytes === undefined
        ? 'in etcd: etcdctl endpoint status tells its size'
        : `${sizeText(usedBytes)} in use${quota}, ${sizeText(bytes)} in all${freePages === undefined ? '' : `, ${freePages} free pages`}`
    figures.push(['store', size], ['revisions', `${revision}, history from ${oldestRevision}`])
    const oldest = Math.max(-1, ...readers.map(reader => reader.transactionsBehind))
    const reader = readers.find(each => each.transactionsBehind === oldest)
    if (heldRevision !== undefined) figures.push(['oldest reader', `holds revision ${heldRevision}`])
    else figures.push(['oldest reader', reader ? `process ${reader.pid}, ${oldest} transactions behind` : 'none'])
  }
  if (records) figures.push(['records', `${records.checked} read and checked, ${records.unreadable.length} unreadable`])
  const [next] = [...certificates].sort((a, b) => (a.notAfter < b.notAfter ? -1 : 1))
  if (next) {
    const days = Math.floor((Date.parse(next.notAfter) - Date.parse(time)) / DAY)
    figures.push(['certificates', `${certificates.length}; the next to expire is ${next.name}, in ${days} days`])
  }
  if (clockAheadMs !== undefined) figures.push(['clocks', clockAheadMs === 0 ? 'agree' : `differ by ${Math.abs(clockAheadMs)} ms`])
  return figures
}

function kindsOf({ records }: Report): string {
  if (!records || records.kinds.length === 0) return ''
  const rows = records.kinds
    .slice(0, SHOWN_KINDS)
    .map(({ resource, objects, bytes }) => [`  ${resource}`, String(objects), sizeText(bytes)])
  return tableText([['LARGEST KINDS', 'OBJECTS', 'BYTES'], ...rows], [1, 2])
}

function requestsOf({ slowestRequests = [] }: Report): string {
  if (slowestRequests.length === 0) return ''
  const rows = slowestRequests
    .slice(0, SHOWN_REQUESTS)
    .map(({ verb, path, ms, user, time }) => [`  ${verb} ${path}`, `${ms} ms`, user, time.replace(/\.\d+Z$/, 'Z')])
  return tableText([['SLOWEST REQUESTS OF THE LAST HOUR', 'TIME', 'USER', 'AT'], ...rows], [1])
}

function verdictOf({ findings, skipped }: Report, fixed: readonly Fixed[] | undefined): string {
  if (findings.length === 0) return skipped.length === 0 ? 'All is well.\n' : 'All that was examined is well.\n'
  const mended = new Set(fixed?.filter(({ isDone }) => isDone).map(({ subject }) => subject))
  const count = findings.filter(({ subject }) => !mended.has(subject)).length
  const title = count === 0 ? 'All that was wrong has been mended.' : `${count} ${count === 1 ? 'thing needs' : 'things need'} attention:`
  return `${title}\n${findings.map(finding => linesOf(finding, mended.has(finding.subject))).join('')}`
}

function linesOf({ level, subject, message, advice, fix }: Finding, isMended: boolean): string {
  if (isMended) return `\n  ✓ ${subject}\n    ${message}\n`
  const hint = fix
    ? [...(advice === undefined ? [] : [advice]), ...(advice?.includes('--fix') ? [] : ['--fix mends it'])].join('; ')
    : advice
  return `\n  ${level === 'problem' ? '✗' : '!'} ${subject}\n    ${message}\n${hint === undefined ? '' : `    → ${hint}\n`}`
}
