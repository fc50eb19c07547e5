// A bot on grammY for the Telegram stand-in: node grammy_bot.cjs API_ROOT TOKEN
// Echoes texts under a button, answers presses and inline queries, sends a picture on /picture.
const { Bot, InlineKeyboard, InputFile } = require("grammy");

const [apiRoot, token] = process.argv.slice(2);
const picture =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const bot = new Bot(token, { client: { apiRoot } });

bot.command("picture", (ctx) =>
  ctx.replyWithPhoto(new InputFile(Buffer.from(picture, "base64"), "a.png"), { caption: "c" }),
);
bot.on("message:text", (ctx) =>
  ctx.reply(`<b>${ctx.message.text}</b>`, {
    parse_mode: "HTML",
    reply_parameters: { message_id: ctx.message.message_id },
    reply_markup: new InlineKeyboard().text("Up", "up"),
  }),
);
bot.on("callback_query:data", async (ctx) => {
  await ctx.editMessageText("pressed");
  await ctx.answerCallbackQuery("Thanks");
});
bot.on("inline_query", (ctx) =>
  ctx.answerInlineQuery(
    [
      {
        type: "article",
        id: "1",
        title: "t",
        input_message_content: { message_text: ctx.inlineQuery.query },
      },
    ],
    { cache_time: 0 },
  ),
);
bot.catch((problem) => console.error(String(problem.error)));

process.on("SIGTERM", () => bot.stop());
bot.api
  .setMyCommands([{ command: "picture", description: "A picture" }])
  .then(() => bot.start());
