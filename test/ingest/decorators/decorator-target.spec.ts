import { compileFunction } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import ts from 'typescript';
import { InvalidDecoratorTargetError, Track } from '../../../src/index.js';
import { DecoratedApps } from './support/decorated-app.js';

const apps = DecoratedApps.forThisFile();

/** Compiles code with compiler options that an application might have, and runs it with the decorator. */
function run(code: string, experimentalDecorators: boolean): void {
  const { outputText } = ts.transpileModule(code, {
    compilerOptions: { experimentalDecorators, target: ts.ScriptTarget.ES2022 },
  });
  Reflect.apply(compileFunction(outputText, ['Track']), undefined, [Track]);
}

const TRACK = `@Track('Opened')`;

describe('a decorator in a place where it cannot work', () => {
  it.each([
    ['a class', `${TRACK} class Shop {}`, 'on the class `Shop`', 'a method of the class'],
    ['an arrow function', `class Shop { ${TRACK} open = () => 1 }`, 'on the property `open`', 'open() { … }'],
    [
      'a static method',
      `class Shop { ${TRACK} static open() {} }`,
      'on the static member `open`',
      'instance method',
    ],
    [
      'an accessor',
      `class Shop { ${TRACK} get open() { return 1 } }`,
      'on the accessor `open`',
      'on a method',
    ],
  ])('is refused on %s when the class is defined', (_name, code, place, remedy) => {
    expect(() => {
      run(code, true);
    }).toThrow(InvalidDecoratorTargetError);
    expect(() => {
      run(code, true);
    }).toThrow(place);
    expect(() => {
      run(code, true);
    }).toThrow(remedy);
  });

  it.each([
    ['a method', `class Shop { ${TRACK} open() {} }`, 'on `open`'],
    ['a static method', `class Shop { ${TRACK} static open() {} }`, 'on `open`'],
    ['an arrow function', `class Shop { ${TRACK} open = () => 1 }`, 'on `open`'],
    ['a class', `${TRACK} class Shop {}`, 'on `Shop`'],
  ])(
    'is refused on %s under standard decorators, with the name of the missing setting',
    (_name, code, place) => {
      expect(() => {
        run(code, false);
      }).toThrow(InvalidDecoratorTargetError);
      expect(() => {
        run(code, false);
      }).toThrow(place);
      expect(() => {
        run(code, false);
      }).toThrow('"experimentalDecorators": true');
    },
  );
});

@Injectable()
class Frozen {
  constructor() {
    Object.freeze(this);
  }

  @Track('Opened', { userId: 'u1' })
  open(): this {
    return this;
  }
}

@Injectable()
class Unextended {
  constructor() {
    Object.preventExtensions(this);
  }

  @Track('Opened', { userId: 'u1' })
  open(): this {
    return this;
  }
}

describe('an object that takes no further properties', () => {
  it.each([Frozen, Unextended])('is constructed by Nest, and its methods are recorded: %p', async (type) => {
    const app = await apps.start({ providers: [type] });
    const shop = app.get<Frozen | Unextended>(type);
    expect(shop.open()).toBe(shop);
    expect(app.events).toEqual(['Opened']);
  });
});
