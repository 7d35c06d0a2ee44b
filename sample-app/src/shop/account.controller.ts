import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Body, Controller, Delete, HttpCode, Post, Put, Res } from '@nestjs/common';
import { Alias, AnalyticsService, Group, Identify } from 'nestjs-analytics';
import { BigSpenders } from './big-spenders.js';
import { CurrentVisitor } from './current-visitor.decorator.js';
import { type Customer, Customers } from './customers.js';
import { RequiredTextPipe } from './required-text.pipe.js';
import { visitorCookie } from './visitor-cookie.js';
import { Visitor } from './visitor.js';

@Controller('account')
export class AccountController {
  constructor(
    private readonly analytics: AnalyticsService,
    private readonly customers: Customers,
    private readonly bigSpenders: BigSpenders,
  ) {}

  // The alias comes first: it links the visitor's earlier page views to the account.
  @Post()
  @Alias()
  @Identify({ traits: ({ result: { name, email } }) => ({ name, email }) })
  signUp(
    @CurrentVisitor() visitor: Visitor,
    @Body('name', RequiredTextPipe) name: string,
    @Body('email', RequiredTextPipe) email: string,
  ): Customer {
    return this.customers.signUp(visitor.id, { name, email });
  }

  @Put('company')
  @HttpCode(204)
  @Group({
    groupId: ({ args: [, name] }) => name.toLowerCase(),
    traits: ({ args: [, name] }) => ({ name }),
  })
  joinCompany(@CurrentVisitor() visitor: Visitor, @Body('name', RequiredTextPipe) name: string): void {
    this.customers.joinCompany(visitor.id, name);
  }

  @Delete()
  @HttpCode(204)
  async close(
    @CurrentVisitor() visitor: Visitor,
    @Res({ passthrough: true }) response: Pick<ServerResponse, 'setHeader'>,
  ): Promise<void> {
    const { id } = this.customers.require(visitor.id);
    // Before the account is deleted: otherwise, the next recomputation would send a call about a deleted customer.
    await this.bigSpenders.remove(id);
    this.customers.delete(visitor.id);
    this.analytics.delete({ userId: id });
    // The old visitor id is linked to the account, so the browser gets a new id.
    response.setHeader('Set-Cookie', visitorCookie(randomUUID()));
  }
}
