// A step is a generator: called without `yield*`, `run` or `finish` it does nothing, and the compiler accepts that. This test does not.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Expression, type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import {
  isArrowFunction,
  isAwaitExpression,
  isCallExpression,
  isExpressionStatement,
  isParenthesizedExpression,
  isVoidExpression,
} from 'typescript/unstable/ast/is'
import { API, type Checker, SignatureKind, type Type, TypeFlags } from 'typescript/unstable/sync'
import { temporaryDirectory } from './kit.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Mistakes that must be found, and correct uses that must not. */
const EXAMPLE = `
import { finish, type MaybeStep, type Step } from ${JSON.stringify(join(ROOT, 'src/lib/step.ts'))}
function* step(): Step<number> { yield; return 1 }
const maybe = (): MaybeStep<number> => step()
function* uses(items: number[]): Step<void> {
  step() // mistake
  void step() // mistake
  maybe() // mistake
  items.forEach(() => step()) // mistake
  items.map(() => step())
  yield* step()
  finish(step())
  items.forEach(() => finish(step()))
}
async function waits() {
  await step() // mistake
}
`

test('no step is dropped before it has run', t => {
  const directory = temporaryDirectory(t)
  const config = join(directory, 'tsconfig.json')
  const example = join(directory, 'example.ts')
  writeFileSync(example, EXAMPLE)
  const files = { include: [join(ROOT, 'src'), example], exclude: ['**/*.test.ts'] }
  const compilerOptions = { typeRoots: [join(ROOT, 'node_modules/@types')] }
  writeFileSync(config, JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, ...files }))
  const api = new API({ cwd: ROOT })
  t.after(() => api.close())
  const [project] = api.updateSnapshot({ openProjects: [config] }).getProjects()
  const { program, checker, rootFiles } = project!
  const found = rootFiles.flatMap(name => droppedSteps(program.getSourceFile(name)!, checker))
  const expected = EXAMPLE.split('\n').flatMap((line, i) => (line.endsWith('// mistake') ? [`${example}:${i + 1}`] : []))
  assert.ok(rootFiles.length > 1000)
  assert.deepEqual(found.sort(), expected.sort())
})

/** The places in a file where a step is made and neither run nor handed on. */
function droppedSteps(file: SourceFile, checker: Checker): string[] {
  const dropped: Expression[] = []
  const returned: Expression[] = []
  const visit = (node: Node): undefined => {
    if (isExpressionStatement(node)) dropped.push(unwrapped(node.expression))
    else if (isAwaitExpression(node)) dropped.push(unwrapped(node.expression))
    else if (isArrowFunction(node) && isCallExpression(node.parent)) returned.push(node.body as Expression)
    node.forEachChild(visit)
  }
  file.forEachChild(visit)
  const steps = [...stepsAmong(dropped, checker), ...stepsAmong(returned, checker).filter(({ parent }) => isResultIgnored(parent, checker))]
  return steps.map(({ end }) => `${file.fileName}:${file.text.slice(0, end).split('\n').length}`)
}

/** `void (step())` has the type undefined; the step is inside. */
function unwrapped(expression: Expression): Expression {
  return isVoidExpression(expression) || isParenthesizedExpression(expression) ? unwrapped(expression.expression) : expression
}

function stepsAmong(expressions: readonly Expression[], checker: Checker): Expression[] {
  const calls = expressions.filter(expression => expression.kind === SyntaxKind.CallExpression)
  const types = checker.getTypeAtLocation(calls)
  return calls.filter((_, i) => isStep(types[i]))
}

/** Whether a value may be a generator. A step is an alias of that type. */
function isStep(type: Type | undefined): boolean {
  if (type?.isUnionType()) return type.getTypes().some(isStep)
  return type?.getSymbol()?.name === 'Generator'
}

/** Whether the callee of a callback drops its result. */
function isResultIgnored(callback: Node, checker: Checker): boolean {
  const type = checker.getContextualType(callback as Expression)
  const [signature] = type ? checker.getSignaturesOfType(type, SignatureKind.Call) : []
  return signature !== undefined && ((checker.getReturnTypeOfSignature(signature)?.flags ?? 0) & TypeFlags.Void) !== 0
}
