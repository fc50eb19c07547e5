"""What people say to each other in groups, for the bot to leave alone."""

ENGLISH = """\
Good morning everyone, did you all sleep well
Has anyone seen the keys to the meeting room
I will be ten minutes late today, sorry
The meeting has been moved to three tomorrow
Can somebody please review my pull request
Thanks a lot, that really helped me
Let's order pizza for lunch today
I can't believe how cold it is outside
Who wants to go to the cinema on Friday
My train is delayed again, typical
haha that is so true lol
Happy birthday Maria, have a great day!
Don't forget to bring the documents tomorrow
Just sent you the file by mail
The printer on the second floor is broken again
We should talk about the budget on Monday
Are you coming to the party tonight
ok see you at five then
That was the best match I have seen in years
She said she would call me back later
Anyone up for a coffee in ten minutes
I think we need to buy more milk
Sorry, wrong chat, please ignore that
The kids are finally asleep, what a day
Could you send me the link again please
This is exactly what I was talking about yesterday
Running late, start without me
Does this work on your phone as well
You won't believe what just happened to me
Great job on the presentation today guys
The wifi is down again, is it just me
No idea, ask Peter, he knows about these things
Has the delivery arrived yet or should I call them
I'm stuck in traffic, be there in twenty
Please remember to submit your hours before Friday
What time does the game start tonight
Mum says dinner is ready in five minutes
It works on my machine, no idea why
Could we move the call to next week
That joke was terrible and I loved it
Well, at least the weather is nice today
Omg I totally forgot about that, sorry
Good luck with the exam tomorrow, you will be fine
I'd rather stay home and watch something
He told us the same story three times already
The dog ate my homework, for real this time
Never mind, found it under the couch
Nice one, where did you buy that jacket
We are almost there, save us a seat
Sure, no problem, whenever you have time
The password has been changed, ask me for the new one
Who left the window open last night
Pretty sure that was your turn, not mine
Been there, done that, never again
Looks good to me, ship it
So what are we doing this weekend then
Yes, that sounds like a plan to me
I just read that article, it is really long
Wait, is the office closed on Monday
Hope you feel better soon, take care
call me when you get home
brb someone is at the door
anyone know a good plumber around here
the new guy starts on monday right
lunch at one in the usual place
honestly the food there was not that great
cool, then I'll bring the drinks
my battery is dying, talk later
nobody told me about the fire drill
that movie was way too long
same here, it has been like that all morning
yeah the second one is better
it's raining again, of course
can we please not do this today
remember when we missed that flight in Rome
Morning all, coffee machine is fixed
Is it ok if I bring my sister along
Who is on call this weekend
Lost my umbrella, has anybody picked it up
The landlord wants to raise the rent again
Finally finished the report, going to bed
Weather looks awful for Saturday, maybe we cancel
Which one do you prefer, the blue or the green
Not sure I can make it, will let you know
Grandma made cake, come over whenever
Seriously, that meeting could have been an email
Congrats on the new job, well deserved
Someone parked in my spot again
Same time next week works for everyone
Forgot my charger at home, can I borrow one
The soup was amazing, send me the recipe
Guess who I ran into at the supermarket
Parents evening is on Thursday at seven
Two tickets left for the concert, who wants one
Leaving now, should be there by six
No worries, we can do it another time
Did the plumber ever call back
It was lovely seeing you all yesterday
Whoever used the blender please clean it
Table for eight booked at the Italian place
Bus was full so I walked, soaking wet
How was the interview, tell us everything
Anna says she left her jacket in your car
Kids have no school on Friday, any ideas
The server is slow today, is anyone deploying
Pick up some bread on your way home
Good point, I had not thought of that
Love this picture of the two of you
Tom will bring the speakers, I bring the snacks
My phone fell in the sink, do not call
Please stop sending these at midnight
We are out of toilet paper at the office
Looking forward to seeing the new flat
Done, merged and deployed, have a nice evening
The code review took longer than expected
"""

SPANISH = """\
Buen día a todos, cómo amanecieron
Alguien vio las llaves de la sala de reuniones
Llego diez minutos tarde, perdón
La reunión se pasó para mañana a las tres
Alguien me puede revisar el código por favor
Muchas gracias, me salvaste
Pidamos unas pizzas para el almuerzo
No puedo creer el frío que hace afuera
Quién quiere ir al cine el viernes
Mi tren está demorado otra vez, como siempre
jajaja es verdad lo que dice
Feliz cumple Mariana, que la pases lindo!
No se olviden de traer los papeles mañana
Te acabo de mandar el archivo por mail
La impresora del segundo piso no anda de nuevo
Tendríamos que hablar del presupuesto el lunes
Vienen a la fiesta de esta noche o no
Dale, nos vemos a las cinco entonces
Fue el mejor partido que vi en años
Me dijo que me llamaba más tarde
Quién se prende a un café en diez minutos
Creo que hay que comprar más leche
Perdón, me equivoqué de chat, ignoren eso
Los chicos por fin se durmieron, qué día
Me pasarías el link de nuevo porfa
Esto es justo lo que te decía ayer
Voy atrasado, empiecen sin mí
A vos te funciona en el teléfono
No sabés lo que me acaba de pasar
Muy buena la presentación de hoy, felicitaciones
Se cayó el wifi otra vez, o soy yo solo
Ni idea, preguntale a Pedro que él sabe
Ya llegó el pedido o los llamo
Estoy trabado en el tránsito, llego en veinte
Acuérdense de cargar las horas antes del viernes
A qué hora empieza el partido hoy
Dice mamá que la comida está en cinco minutos
En mi máquina anda, no sé por qué
Podemos pasar la llamada para la semana que viene
El chiste era malísimo y me encantó
Bueno, al menos está lindo el día
Uh, me re olvidé de eso, perdón
Suerte en el examen mañana, te va a ir bien
Prefiero quedarme en casa y ver una serie
Ya nos contó la misma historia tres veces
El perro me comió la tarea, en serio
No importa, ya lo encontré abajo del sillón
Qué buena campera, dónde la compraste
Ya casi llegamos, guárdennos un lugar
Obvio, no hay drama, cuando puedas
Cambiaron la contraseña, pedímela por privado
Quién dejó la ventana abierta anoche
Che, hoy te tocaba a vos
Eso ya lo probamos y no anduvo
A mí me parece bien, subilo
Entonces qué hacemos el fin de semana
Sí, me parece un buen plan
Recién leí esa nota, es larguísima
Pará, el lunes está cerrada la oficina
Espero que te mejores pronto, cuidate
llamame cuando llegues a casa
alguien conoce un plomero bueno por acá
el nuevo empieza el lunes no
almuerzo a la una donde siempre
la verdad que la comida no era gran cosa
listo, entonces yo llevo las bebidas
me quedo sin batería, hablamos después
nadie me avisó del simulacro
esa película es demasiado larga
acá igual, está así desde la mañana
sí, la segunda es mejor
está lloviendo otra vez, obvio
hoy no llego, lo vemos mañana
te acordás cuando perdimos el vuelo en Roma
qué hambre que tengo, vamos a comer
Buenas, arreglaron la cafetera
Puedo llevar a mi hermana el sábado
Quién está de guardia este finde
Perdí el paraguas, alguien lo agarró
El dueño quiere subir el alquiler otra vez
Por fin terminé el informe, me voy a dormir
El sábado parece que llueve, capaz cancelamos
Cuál les gusta más, el azul o el verde
No sé si llego, les aviso más tarde
La abuela hizo torta, vengan cuando quieran
Posta, esa reunión podía ser un mail
Felicitaciones por el laburo nuevo, te lo merecés
Otra vez me estacionaron en la puerta
La semana que viene a la misma hora me queda bien
Me olvidé el cargador, alguien me presta uno
La sopa estaba buenísima, pasame la receta
Adiviná a quién me crucé en el súper
La reunión de padres es el jueves a las siete
Sobran dos entradas para el recital, quién quiere
Salgo ahora, a las seis estoy ahí
Tranqui, lo hacemos otro día
Al final llamó el plomero o no
Fue lindo verlos a todos ayer
El que usó la licuadora que la limpie
Reservé mesa para ocho en el italiano
El colectivo venía lleno y me vine caminando
Contanos cómo te fue en la entrevista
Dice Ana que se dejó la campera en tu auto
Los chicos no tienen clase el viernes
El servidor anda lento, están deployando
Compren pan cuando vuelvan para casa
Buen punto, no lo había pensado
Me encanta esa foto de ustedes dos
Tomás lleva los parlantes y yo la picada
Se me cayó el celular a la pileta
Dejen de mandar estas cosas a medianoche
No hay más papel higiénico en la oficina
Qué ganas de conocer el depto nuevo
Listo, subido a producción, que descansen
La revisión tardó más de lo que pensaba
"""


def lines(text: str) -> list[str]:
    return text.splitlines()
