// keelson explore: a controller in a process of its own is killed, started again and compared, and each finding can be repeated.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { keelson, patient, ROOT, run, temporaryDirectory } from '../kit.ts'
import { commandLines } from '../kits/command-here.ts'
import { testWith } from '../programs.ts'

const PROGRAM = [process.execPath, join(ROOT, 'test/explore/program.mjs')]
const CLAIM = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a, labels: { role: claim } }\n'
const SERVER = ['--controllers=none', '--nodes=0', '--log-level=silent']

test('a controller that generates names makes a second secret when it is killed, and the report repeats it', patient, async t => {
  const objects = join(temporaryDirectory(t), 'claim.yaml')
  writeFileSync(objects, CLAIM)
  const flags = [...SERVER, '--objects', objects, '--quiet', '100ms', '--patience', '2s', '--perturbations', 'intermediate']
  const { code, stdout, stderr } = await keelson('explore', ...flags, '--output', 'json', '--', ...PROGRAM)
  assert.equal(code, 3, stdout + stderr)
  const report = JSON.parse(stdout)
  const id = 'intermediate/create/secrets/default/a-*/1'
  assert.deepEqual(
    report.findings.map((finding: any) => ({ id: finding.id, problems: finding.problems })),
    [{ id, problems: ['there are 2 of Secret default/a-*, not 1'] }],
  )
  const [{ trace, repeat }] = report.findings
  assert.deepEqual(trace.slice(0, 3), [
    'program: create secrets default/a-*: 201',
    '* the program is killed and started again',
    'program: create secrets default/a-*: 201',
  ])
  assert.match(repeat, /^keelson explore .*'--only=intermediate\/create\/secrets\/default\/a-\*\/1' -- .*program\.mjs$/)
})

test('the same with a name that follows from the claim has no finding, and invariants are compared', patient, async t => {
  const folder = temporaryDirectory(t)
  const [objects, invariants] = [join(folder, 'claim.yaml'), join(folder, 'invariants.yaml')]
  writeFileSync(objects, CLAIM)
  writeFileSync(invariants, '- { kind: Secret, namespace: default, count: 1 }\n- { noOrphans: true }\n')
  const flags = [
    ...SERVER,
    '--workload',
    `test -n "$KUBECONFIG"`,
    '--objects',
    objects,
    '--invariants',
    invariants,
    '--quiet',
    '100ms',
    '--patience',
    '2s',
  ]
  const only = ['--only', 'intermediate/create/secrets/default/a-secret/1']
  const { code, stdout, stderr } = await keelson('explore', ...flags, ...only, '--', ...PROGRAM, 'fixed')
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^no findings; 1 of 1 perturbations tried, seed 1$/m)
})

testWith('kubernetes-source', 'the same with a controller in Go with the informers of client-go', patient, async (t, source) => {
  const folder = temporaryDirectory(t)
  const [objects, program] = [join(folder, 'claim.yaml'), join(folder, 'controller')]
  writeFileSync(objects, CLAIM)
  const built = await run(process.env['GO'] ?? 'go', ['build', '-o', program, join(ROOT, 'test/explore/go/main.go')], { cwd: source })
  assert.equal(built.code, 0, built.stderr)
  const flags = [...SERVER, '--objects', objects, '--quiet', '500ms', '--patience', '5s', '--perturbations', 'intermediate']
  const found = await keelson('explore', ...flags, '--output', 'json', '--', program)
  assert.equal(found.code, 3, found.stdout + found.stderr)
  assert.deepEqual(
    JSON.parse(found.stdout).findings.map((finding: any) => finding.problems),
    [['there are 2 of Secret default/a-*, not 1']],
  )
  const fixed = await keelson('explore', ...flags, '--', program, 'fixed')
  assert.equal(fixed.code, 0, fixed.stdout + fixed.stderr)
})

test('wrong arguments are refused by their names', patient, async t => {
  const file = join(temporaryDirectory(t), 'invariants.yaml')
  writeFileSync(file, '- { kind: Secret, cuont: 1 }\n')
  const cases: [args: string[], message: RegExp][] = [
    [[], /no command; write it after two dashes/],
    [['--budget', 'soon', '--', 'true'], /--budget must be milliseconds or a duration such as 5m, above 0, not soon/],
    [['--seed', 'x', '--', 'true'], /--seed must be a whole number/],
    [['--perturbations', 'stael', '--', 'true'], /--perturbations: there is no stael; did you mean stale\?/],
    [['--only', 'x', '--', 'true'], /--only must be the id of a finding/],
    [['--restart', 'sometimes', '--', 'true'], /--restart takes always, on-failure, never, not "sometimes"/],
    [['--restart', 'always', '--', 'true'], /a run would never end/],
    [['--quiet', '-1s', '--', 'true'], /--quiet takes a duration such as 30s or 5m, above 0, not "-1s"/],
    [['--ignore', 'a:b:c', '--', 'true'], /--ignore must be a list of KIND or KIND:FIELD.PATH/],
    [['--invariants', file, '--', 'true'], /--invariants .*: \[0\]\.cuont is unknown; did you mean count\?/],
    [['--invariants', `${file}.missing`, '--', 'true'], /--invariants .*missing: /],
    [['--output', 'xml', '--', 'true'], /--output takes text, json, not "xml"/],
    [['--store', 'etcd', '--', 'true'], /--store etcd: an exploration changes everything/],
    [['--nonsense', '--', 'true'], /unknown argument --nonsense/],
  ]
  const results = await commandLines(cases.map(([args]) => ['explore', ...args]))
  for (const [i, [args, message]] of cases.entries()) {
    assert.match(results[i]!.stderr, message, args.join(' '))
    assert.notEqual(results[i]!.code, 0)
  }
})
